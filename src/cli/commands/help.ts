import type { Command, HelpContext } from 'commander';

/** A command with subcommands. Without a subcommand it fails with one line, like any wrong usage. */
export function addGroup(program: Command, name: string, description: string): Command {
  const group = program.command(name).description(description);
  const help = group.help.bind(group) as (context?: HelpContext) => never;
  // By default commander prints the whole help text as the error.
  group.help = ((context?: HelpContext): never => {
    if (!context?.error) return help(context);
    const names = group.commands.map((one) => one.name()).join(', ');
    return group.error(`${name} needs a subcommand: ${names}; run drover ${name} --help for usage`);
  }) as Command['help'];
  return group;
}

/** Adds `help` as the last command. commander's own takes one name only and ignores unknown ones. */
export function addHelp(parent: Command): void {
  parent
    .command('help')
    .description('show help for a command')
    .argument('[command...]')
    .action((names: string[]) => {
      let at = parent;
      for (const name of names) {
        const next = at.commands.find((one) => one.name() === name);
        at = next ?? at.error(`unknown command ${JSON.stringify(name)}`);
      }
      at.help();
    });
}
