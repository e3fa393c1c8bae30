/**
 * `completion`: scripts that complete commands and options in a shell.
 *
 * @module
 */
import type { Command, CommandEntry } from '../command.js'
import { EXIT } from '../exit-codes.js'
import { usageFailure } from '../failure.js'
import { COMMON_OPTIONS, type OptionSpec } from '../syntax.js'

/** The command for the scripts of these commands. */
export function completionOf(entries: readonly CommandEntry[]): Command {
  return {
    name: 'completion',
    usage: 'completion bash|zsh',
    summary: 'Print a completion script for bash or zsh',
    positionals: [1, 1],
    options: {},
    examples: ['completion bash >> ~/.bash_completion', 'completion zsh > "${fpath[1]}/_a2a-tasks"'],
    async run(args, { out }) {
      const shell = args.at(0)
      if (shell !== 'bash' && shell !== 'zsh') {
        throw usageFailure(`There is no completion for "${shell}"`, 'The shells are bash and zsh')
      }
      const commands = await Promise.all(entries.map((entry) => entry.load()))
      out.text(shell === 'bash' ? bashScript(commands) : zshScript(commands))
      return EXIT.ok
    },
  }
}

function optionsOf({ options }: Command): [string, OptionSpec][] {
  return Object.entries({ ...options, ...COMMON_OPTIONS })
}

const TAKES_FILE = /FILE|PATH/

function bashScript(commands: readonly Command[]): string {
  const cases = commands.map((each) => {
    const words = optionsOf(each).map(([name]) => `--${name}`)
    return `    ${each.name}) words='${words.join(' ')}' ;;`
  })
  const files = new Set(
    commands
      .flatMap(optionsOf)
      .flatMap(([name, { value }]) => (TAKES_FILE.test(value ?? '') ? [`--${name}`] : [])),
  )
  return `# Completion of a2a-tasks for bash.
_a2a_tasks() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" words=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${[...commands.map(({ name }) => name), 'help'].join(' ')}' -- "$word"))
    return
  fi
  case "$before" in
    ${[...files].join('|')}) COMPREPLY=($(compgen -f -- "$word")); return ;;
  esac
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
    help) words='${commands.map(({ name }) => name).join(' ')}' ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  if [ \${#COMPREPLY[@]} -eq 0 ]; then COMPREPLY=($(compgen -f -- "$word")); fi
}
complete -F _a2a_tasks a2a-tasks`
}

function zshScript(commands: readonly Command[]): string {
  const cases = commands.map((each) => {
    const specs = optionsOf(each).map(([name, { help, value, multiple }]) => {
      const action = TAKES_FILE.test(value ?? '') ? '_files' : ''
      const argument = value === undefined ? '' : `:${name}:${action}`
      return `'${multiple === true ? '*' : ''}--${name}[${zshText(help)}]${argument}'`
    })
    return `    ${each.name}) _arguments ${specs.join(' ')} '*:argument:_files' ;;`
  })
  const names = commands.map(({ name, summary }) => `'${name}:${zshText(summary)}'`)
  return `#compdef a2a-tasks
# Completion of a2a-tasks for zsh.
_a2a_tasks() {
  local -a commands=(${names.join(' ')})
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command="\${words[2]}"
  shift words
  (( CURRENT-- ))
  case "$command" in
${cases.join('\n')}
    help) _describe command commands ;;
  esac
}
if [ "\${funcstack[1]}" = _a2a_tasks ]; then _a2a_tasks "$@"; else compdef _a2a_tasks a2a-tasks; fi`
}

function zshText(text: string): string {
  return text.replace(/['[\]:\\]/g, (character) => (character === "'" ? `'\\''` : `\\${character}`))
}
