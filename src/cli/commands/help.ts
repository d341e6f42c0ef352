// Runs in the command line. Owns `help`, of drover and of its groups of commands, and what a group says without a command.

import type { Command, HelpContext } from 'commander';

/** A command that only holds others, with what is said when none of them is given: one line, as for all wrong use. */
export function addGroup(program: Command, name: string, description: string): Command {
  const group = program.command(name).description(description);
  const help = group.help.bind(group) as (context?: HelpContext) => never;
  // commander would print the whole help as an error.
  group.help = ((context?: HelpContext): never => {
    if (!context?.error) return help(context);
    const names = group.commands.map((one) => one.name()).join(', ');
    return group.error(
      `${name}: no command was given; there are ${names}; see drover ${name} --help`,
    );
  }) as Command['help'];
  return group;
}

/** `help` behind all commands that there are. That of commander knows one name, and says nothing of one that is wrong. */
export function addHelp(parent: Command): void {
  parent
    .command('help')
    .description('show the help of a command')
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
