import { type Daemon, startDaemon } from '../harness/daemon.js';
import { freePort } from '../harness/ports.js';

export interface Ngircd extends Daemon {
  port: number;
}

export interface NgircdOptions {
  /** Default: a free port. */
  port?: number;
  password?: string;
  /** PEM texts. The port then uses TLS. */
  tls?: { key: string; certificate: string };
}

export async function startNgircd(options: NgircdOptions = {}): Promise<Ngircd> {
  const { port = await freePort(), password, tls } = options;
  const daemon = await startDaemon({
    command: 'ngircd',
    package: 'ngircd',
    args: (dir) => ['--nodaemon', '--config', `${dir}/ngircd.conf`],
    ready: /Server ".*" .*ready/,
    files: {
      'ngircd.conf': `
[Global]
Name = irc.test
Info = a test
AdminEMail = nobody@irc.test
Listen = 127.0.0.1
${tls ? '' : `Ports = ${port}`}
${password === undefined ? '' : `Password = ${password}`}
MotdPhrase = hello

[Limits]
MaxConnectionsIP = 0
MaxNickLength = 20
MaxPenaltyTime = 0

[Options]
DNS = no
Ident = no
PAM = no
${tls ? `[SSL]\nPorts = ${port}\nKeyFile = @DIR@/key.pem\nCertFile = @DIR@/cert.pem` : ''}
`,
      ...(tls ? { 'key.pem': tls.key, 'cert.pem': tls.certificate } : {}),
    },
  });
  return { ...daemon, port };
}
