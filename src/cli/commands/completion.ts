// `drover completion`: shell scripts generated from the defined commands.

import { Argument, type Command } from 'commander';
import { action } from '../terminal/action.js';
import { print } from '../terminal/output.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** The default subcommand of each command path, which commander does not expose. */
const DEFAULT_COMMANDS: Readonly<Record<string, string>> = {
  '': 'start',
  incidents: 'list',
  kinds: 'list',
  nodes: 'list',
  operations: 'list',
};

/** What can follow a command path. */
interface CompletionPoint {
  /** Command and subcommand, without `drover`. */
  path: string[];
  commands: { name: string; description: string }[];
  flags: Flag[];
  choices: readonly string[];
}

interface Flag {
  long: string;
  short: string | undefined;
  takesValue: boolean;
  /** Allowed values; empty if any value is allowed. */
  values: readonly string[];
  description: string;
}

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print a completion script for a shell')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText(
      'after',
      `
Install it:
  bash  add to ~/.bashrc:                  source <(drover completion bash)
  zsh   add to ~/.zshrc, after compinit:   source <(drover completion zsh)
  fish  run once:                          drover completion fish > ~/.config/fish/completions/drover.fish`,
    )
    .action(
      action(async (shell: Shell): Promise<undefined> => {
        await print(SCRIPTS[shell](placesOf(program)));
      }),
    );
}

function placesOf(command: Command, path: string[] = []): CompletionPoint[] {
  const commands = command.commands.filter((one) => one.name() !== 'help');
  // Without a command, drover runs start and accepts its flags; a group runs its default command.
  const start = commands.filter((one) => one.name() === DEFAULT_COMMANDS[path.join(' ')]);
  const place: CompletionPoint = {
    path,
    commands: commands.map((one) => ({ name: one.name(), description: one.description() })),
    flags: [...start, command]
      .flatMap((one) => one.createHelp().visibleOptions(one))
      .filter(({ long }, at, all) => all.findIndex((other) => other.long === long) === at)
      .map((option) => ({
        long: option.long ?? '',
        short: option.short,
        takesValue: option.required || option.optional,
        values: option.argChoices ?? [],
        description: option.description,
      })),
    choices: command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
  };
  return [place, ...commands.flatMap((one) => placesOf(one, [...path, one.name()]))];
}

/** The arms of a `case` over the command path, for bash and zsh. */
function cases(
  places: readonly CompletionPoint[],
  body: (place: CompletionPoint) => string,
): string {
  return places
    .map((place) => `    ${JSON.stringify(place.path.join(' '))}) ${body(place)} ;;`)
    .join('\n');
}

/** Within an arm: the values that can follow a flag. */
function valueCase(
  { flags }: CompletionPoint,
  next: (values: readonly string[]) => string,
): string {
  const arms = flags
    .filter(({ takesValue }) => takesValue)
    .map(({ long, short, values }) => {
      const names = short === undefined ? quote(long) : `${quote(long)} | ${quote(short)}`;
      return `${names}) takes=1 next=${next(values)} ;;`;
    });
  return arms.length === 0 ? '' : `; case "$before" in ${arms.join(' ')} esac`;
}

const SCRIPTS: Readonly<Record<Shell, (places: readonly CompletionPoint[]) => string>> = {
  bash: (places) => `# drover completion bash
_drover() {
  local word before path='' i next='' flags='' takes=''
  COMPREPLY=()
  before="\${COMP_WORDS[COMP_CWORD-1]}"
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${path:+$path }\${COMP_WORDS[i]}" in
      ${pathPattern(places)}) path="\${path:+$path }\${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path" in
${cases(places, (place) => `next='${wordsAt(place).join(' ')}' flags='${flagsAt(place).join(' ')}'${valueCase(place, (values) => `'${values.join(' ')}'`)}`)}
  esac
  word="\${COMP_WORDS[COMP_CWORD]}"
  if [[ -z $takes && $word == -* ]]; then next=$flags; fi
  while IFS= read -r i; do COMPREPLY+=("$i"); done < <(compgen -W "$next" -- "$word")
}
complete -o default -F _drover drover
`,
  zsh: (places) => `#compdef drover
# drover completion zsh
_drover() {
  local place='' i before="\${words[CURRENT-1]}" takes=''
  local -a next flags
  for ((i = 2; i < CURRENT; i++)); do
    case "\${place:+$place }\${words[i]}" in
      ${pathPattern(places)}) place="\${place:+$place }\${words[i]}" ;;
    esac
  done
  case "$place" in
${cases(places, (place) => `next=(${describedWords(place)}) flags=(${describedFlags(place)})${valueCase(place, (values) => `(${values.map(quote).join(' ')})`)}`)}
  esac
  if [[ -z $takes && $words[CURRENT] == -* ]]; then
    _describe -o 'flag' flags
  elif (( $#next )); then
    _describe 'command' next
  else
    _files
  fi
}
compdef _drover drover
`,
  fish: (places) => `# drover completion fish
function __drover_at
  set -l place
  for word in (commandline -opc)[2..-1]
    switch (string join -- ' ' $place $word)
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

function pathPattern(places: readonly CompletionPoint[]): string {
  return places
    .slice(1)
    .map(({ path }) => `'${path.join(' ')}'`)
    .join(' | ');
}

const wordsAt = ({ commands, choices }: CompletionPoint): string[] => [
  ...commands.map(({ name }) => name),
  ...choices,
];

const flagsAt = ({ flags }: CompletionPoint): string[] => flags.map(({ long }) => long);

function describedWords({ commands, choices }: CompletionPoint): string {
  const pairs = commands.map(({ name, description }): [string, string] => [name, description]);
  return described([...pairs, ...choices.map((choice): [string, string] => [choice, ''])]);
}

function describedFlags({ flags }: CompletionPoint): string {
  return described(flags.map(({ long, description }) => [long, description]));
}

/** For zsh's `_describe`: `word:description`. */
function described(pairs: readonly [word: string, description: string][]): string {
  return pairs.map(([word, text]) => quote(text === '' ? word : `${word}:${text}`)).join(' ');
}

function fishLines(place: CompletionPoint): string[] {
  const at = `complete -c drover -n ${quote(`__drover_at ${quote(place.path.join(' '))}`)}`;
  return [
    ...place.commands.map(
      ({ name, description }) => `${at} -f -a ${name} -d ${quote(description)}`,
    ),
    ...place.choices.map((choice) => `${at} -f -a ${choice}`),
    ...place.flags.map(({ long, short, takesValue, values, description }) => {
      const value =
        values.length > 0 ? ` -x -a ${quote(values.join(' '))}` : takesValue ? ' -r' : '';
      const letter = short === undefined ? '' : ` -s ${short.slice(1)}`;
      return `${at} -l ${long.slice(2)}${letter}${value} -d ${quote(description)}`;
    }),
  ];
}

/** Quotes for all three shells; the text must not contain a backslash. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
