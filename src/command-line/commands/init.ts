/**
 * `init`: a new agent, with a client, a test and a Dockerfile.
 *
 * @module
 */
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import type { Arguments } from '../arguments.js'
import type { Command } from '../command.js'
import { EXIT } from '../exit-codes.js'
import { usageFailure } from '../failure.js'
import { quoted } from '../follow.js'
import { projectFiles } from '../init/templates.js'
import { bold } from '../terminal/style.js'
import { packageVersion } from '../version.js'

const LANGUAGES = { ts: 'TypeScript', js: 'JavaScript' }
const NEEDS_NODE = 'TypeScript without a build needs Node 22.18 or later'

export const command: Command = {
  name: 'init',
  usage: 'init [DIR]',
  summary: 'Write a new agent, with a client, a test and a Dockerfile',
  description: `DIR is made if it does not exist; default is this folder. No file is overwritten.
TypeScript runs on Node 22.18 and later without a build. On an older Node, the default is JavaScript.`,
  positionals: [0, 1],
  options: {
    typescript: { type: 'boolean', help: 'Write TypeScript' },
    javascript: { type: 'boolean', help: 'Write JavaScript' },
    name: { type: 'string', value: 'NAME', help: 'The name of the agent. Default is that of the folder' },
  },
  examples: ['init my-agent', 'init my-agent --javascript'],
  async run(args, { out, cwd }) {
    const folder = resolve(cwd, args.at(0) || '.')
    const name = nameOf(args.text('name') ?? basename(folder))
    const language = languageOf(args)
    const files = projectFiles({ name, language, version: `^${packageVersion()}` })
    const present = Object.keys(files).filter((file) => existsSync(join(folder, file)))
    if (present.length > 0) {
      throw usageFailure(
        `${folder} has ${present.join(', ')} already`,
        'Nothing was written. Choose an empty folder',
      )
    }
    await mkdir(folder, { recursive: true })
    for (const [file, text] of Object.entries(files)) {
      // Fails for a file that another process has written since.
      await writeFile(join(folder, file), text, { flag: 'wx' })
    }
    const steps = [
      ...(folder === cwd ? [] : [`cd ${quoted(args.at(0))}`]),
      'npm install',
      'npm test',
      'npm start',
    ]
    if (args.flag('json')) out.json({ folder, files: Object.keys(files) }, 2)
    else {
      out.line(
        `Wrote ${Object.keys(files).length} files of ${LANGUAGES[language]} to ${folder}`,
        ...(runsTypeScript() || args.flag('javascript') ? [] : [`${NEEDS_NODE}: this is ${process.version}`]),
        '',
        bold('Next'),
        ...steps.map((step) => `  ${step}`),
      )
    }
    return EXIT.ok
  },
}

/** A name that is valid for a package. */
function nameOf(text: string): string {
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 100)
  return name === '' ? 'agent' : name
}

function languageOf(args: Arguments): 'ts' | 'js' {
  if (args.flag('typescript') && args.flag('javascript')) {
    throw usageFailure('--typescript and --javascript exclude each other')
  }
  if (args.flag('typescript')) return 'ts'
  if (args.flag('javascript')) return 'js'
  return runsTypeScript() ? 'ts' : 'js'
}

function runsTypeScript(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return major > 22 || (major === 22 && minor >= 18)
}
