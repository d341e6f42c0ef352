// Runs in the command line. Owns `drover completion`: scripts for shells, made from the commands that there are.

import { Argument, type Command } from 'commander';
import { print } from './output.js';
import { action } from './run.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** What can follow these words. */
interface Place {
  /** Commands from the first on, without `drover`. */
  path: string[];
  commands: { name: string; description: string }[];
  flags: { long: string; short: string | undefined; takesValue: boolean; description: string }[];
  choices: readonly string[];
}

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print a script that completes commands and flags')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText(
      'after',
      `
Put it where the shell finds it:
  bash  source <(drover completion bash)                                      in ~/.bashrc
  zsh   source <(drover completion zsh)                                       in ~/.zshrc, after compinit
  fish  drover completion fish > ~/.config/fish/completions/drover.fish`,
    )
    .action(
      action(async (shell: Shell): Promise<undefined> => {
        await print(SCRIPTS[shell](placesOf(program)));
      }),
    );
}

function placesOf(command: Command, path: string[] = []): Place[] {
  const commands = command.commands.filter((one) => one.name() !== 'help');
  const place: Place = {
    path,
    commands: commands.map((one) => ({ name: one.name(), description: one.description() })),
    flags: command
      .createHelp()
      .visibleOptions(command)
      .map((option) => ({
        long: option.long ?? '',
        short: option.short,
        takesValue: option.required || option.optional,
        description: option.description,
      })),
    choices: command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
  };
  return [place, ...commands.flatMap((one) => placesOf(one, [...path, one.name()]))];
}

const wordsAt = ({ commands, flags, choices }: Place): string[] => [
  ...commands.map(({ name }) => name),
  ...choices,
  ...flags.map(({ long }) => long),
];

/** A `case` for the commands that stand on the line, which both bash and zsh understand. */
function cases(places: readonly Place[], body: (place: Place) => string): string {
  return places
    .map((place) => `    ${JSON.stringify(place.path.join(' '))}) ${body(place)} ;;`)
    .join('\n');
}

const SCRIPTS: Readonly<Record<Shell, (places: readonly Place[]) => string>> = {
  bash: (places) => `# drover completion bash
_drover() {
  local word path='' i next=''
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${path:+$path }\${COMP_WORDS[i]}" in
      ${pathPattern(places)}) path="\${path:+$path }\${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path" in
${cases(places, (place) => `next='${wordsAt(place).join(' ')}'`)}
  esac
  word="\${COMP_WORDS[COMP_CWORD]}"
  while IFS= read -r i; do COMPREPLY+=("$i"); done < <(compgen -W "$next" -- "$word")
}
complete -o default -F _drover drover
`,
  zsh: (places) => `#compdef drover
# drover completion zsh
_drover() {
  local place='' i
  local -a next
  for ((i = 2; i < CURRENT; i++)); do
    case "\${place:+$place }\${words[i]}" in
      ${pathPattern(places)}) place="\${place:+$place }\${words[i]}" ;;
    esac
  done
  case "$place" in
${cases(places, (place) => `next=(${described(place)})`)}
  esac
  _describe 'drover' next
  _files
}
compdef _drover drover
`,
  fish: (places) => `# drover completion fish
function __drover_at
  set -l place
  for word in (commandline -opc)[2..-1]
    switch (string join ' ' $place $word)
      case ${places
        .slice(1)
        .map(({ path }) => `'${path.join(' ')}'`)
        .join(' ')}
        set place $place $word
    end
  end
  test "$place" = "$argv[1]"
end
${places.flatMap(fishLines).join('\n')}
`,
};

function pathPattern(places: readonly Place[]): string {
  return places
    .slice(1)
    .map(({ path }) => `'${path.join(' ')}'`)
    .join(' | ');
}

/** For `_describe` of zsh: word and description, between which a colon stands. */
function described({ commands, flags, choices }: Place): string {
  const pairs = [
    ...commands.map(({ name, description }) => [name, description]),
    ...choices.map((choice) => [choice, '']),
    ...flags.map(({ long, description }) => [long, description]),
  ];
  return pairs.map(([word, text]) => quote(`${word}:${text}`)).join(' ');
}

function fishLines(place: Place): string[] {
  const at = `complete -c drover -n ${quote(`__drover_at ${quote(place.path.join(' '))}`)}`;
  return [
    ...place.commands.map(
      ({ name, description }) => `${at} -f -a ${name} -d ${quote(description)}`,
    ),
    ...place.choices.map((choice) => `${at} -f -a ${choice}`),
    ...place.flags.map(({ long, short, takesValue, description }) => {
      const letter = short === undefined ? '' : ` -s ${short.slice(1)}`;
      return `${at} -l ${long.slice(2)}${letter}${takesValue ? ' -r' : ''} -d ${quote(description)}`;
    }),
  ];
}

/** For shells of all three kinds; what is quoted here has no backslash. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
