// Test harness of the IRC tests. Owns a network with accounts: InspIRCd, and Atheme's services, which support SASL.

import { type Daemon, startDaemon } from '../harness/daemon.js';
import { freePort } from '../harness/ports.js';

export interface Network {
  port: number;
  stop(): Promise<void>;
}

/** Debian's `nobody` and `nogroup`: both daemons refuse to run as root. */
const USER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;

export async function startNetwork(): Promise<Network> {
  const port = await freePort();
  const link = await freePort();
  const server = await startDaemon({
    command: 'inspircd',
    package: 'inspircd',
    args: (dir) => ['--nofork', '--nolog', `--config=${dir}/inspircd.conf`],
    ready: /InspIRCd is now running/,
    files: {
      'inspircd.conf': `
<server name="irc.test" description="a test" network="test" id="1AA">
<admin name="nobody" nick="nobody" email="nobody@irc.test">
<bind address="127.0.0.1" port="${port}" type="clients">
<bind address="127.0.0.1" port="${link}" type="servers">
<connect allow="*" maxchans="20" timeout="60" pingfreq="120" resolvehostnames="no" localmax="100" globalmax="100" useident="no">
<cidr ipv4clone="32" ipv6clone="128">
<class name="Shutdown" commands="DIE RESTART REHASH">
<path configdir="@DIR@" datadir="@DIR@" logdir="@DIR@" runtimedir="@DIR@">
<pid file="@DIR@/inspircd.pid">
<files motd="/dev/null">
<module name="spanningtree">
<module name="services_account">
<module name="cap">
<module name="ircv3">
<module name="ircv3_servertime">
<module name="ircv3_ctctags">
<module name="ircv3_batch">
<module name="sasl">
<sasl target="services.test">
<uline server="services.test" silent="yes">
<link name="services.test" ipaddr="127.0.0.1" port="${link}" allowmask="*" sendpass="linked" recvpass="linked">
`,
    },
    user: USER,
  });
  let services: Daemon;
  try {
    services = await startDaemon({
      command: 'atheme-services',
      package: 'atheme-services',
      args: (dir) => [
        ...['-n', '-c', `${dir}/atheme.conf`, '-D', dir],
        ...['-l', `${dir}/atheme.log`, '-p', `${dir}/atheme.pid`],
      ],
      ready: /finished synching with uplink/,
      files: {
        'atheme.conf': `
loadmodule "modules/protocol/inspircd";
loadmodule "modules/backend/opensex";
loadmodule "modules/crypto/pbkdf2v2";
loadmodule "modules/nickserv/main";
loadmodule "modules/nickserv/register";
loadmodule "modules/nickserv/identify";
loadmodule "modules/saslserv/main";
loadmodule "modules/saslserv/plain";
serverinfo {
  name = "services.test"; desc = "services"; numeric = "00A"; recontime = 2;
  netname = "test"; hidehostsuffix = "test"; adminname = "nobody"; adminemail = "nobody@irc.test";
  registeremail = "nobody@irc.test"; mta = "/bin/true"; loglevel = { all; }; auth = none; casemapping = rfc1459;
};
uplink "irc.test" { host = "127.0.0.1"; password = "linked"; port = ${link}; };
nickserv { nick = "NickServ"; user = "NickServ"; host = "services.test"; real = "services"; };
saslserv { nick = "SaslServ"; user = "SaslServ"; host = "services.test"; real = "services"; };
general { commit_interval = 5; };
`,
      },
      user: USER,
    });
  } catch (error) {
    await server.stop();
    throw error;
  }
  return {
    port,
    stop: async () => {
      await services.stop();
      await server.stop();
    },
  };
}
