/**
 * `init`: a new agent, with a client, a test and a Dockerfile.
 *
 * @module
 */
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import type { Arguments } from '../arguments.js'
import type { Command } from '../command.js'
import { EXIT } from '../exit-codes.js'
import { usageFailure } from '../failure.js'
import { quoted } from '../follow.js'
import { AI_NODE } from '../init/llm.js'
import type { Project } from '../init/project.js'
import { isObject, MANIFEST, projectFiles, scriptsOf } from '../init/templates.js'
import { bold } from '../terminal/style.js'
import { packageVersion } from '../version.js'

const LANGUAGES = { ts: 'TypeScript', js: 'JavaScript' }
const HAS_LOADER = 'Node 22.18 and later run TypeScript. For older ones, the project has the package tsx'

export const command: Command = {
  name: 'init',
  usage: 'init [DIR]',
  summary: 'Write a new agent, with a client, a test and a Dockerfile',
  description: `DIR is made if it does not exist; default is this folder. No file is overwritten: a package.json gets what it lacks.
Node 22.18 and later run TypeScript. On an older Node, the default is JavaScript, and TypeScript comes with the package tsx.`,
  positionals: [0, 1],
  options: {
    typescript: { type: 'boolean', help: 'Write TypeScript' },
    javascript: { type: 'boolean', help: 'Write JavaScript' },
    llm: {
      type: 'boolean',
      help: 'Write an agent with a language model and tools, on AI SDK. It needs no key to begin',
    },
    name: { type: 'string', value: 'NAME', help: 'The name of the agent. Default is that of the folder' },
  },
  examples: ['init my-agent', 'init my-agent --javascript', 'init my-agent --llm'],
  async run(args, { out, cwd }) {
    const folder = resolve(cwd, args.at(0) || '.')
    const name = nameOf(args.text('name') ?? basename(folder))
    const language = languageOf(args)
    const hasLoader = language === 'ts' && !runsTypeScript()
    const manifest = await readManifest(join(folder, MANIFEST))
    const isLlm = args.flag('llm')
    const project = { name, language, isLlm, hasLoader, version: `^${packageVersion()}` } as const
    const files = projectFiles(project, manifest)
    const { [MANIFEST]: merged = '', ...others } = files
    const present = Object.keys(others).filter((file) => existsSync(join(folder, file)))
    if (present.length > 0) {
      throw usageFailure(
        `${folder} has ${present.join(', ')} already`,
        'Nothing was written. Choose an empty folder',
      )
    }
    await mkdir(folder, { recursive: true })
    for (const [file, text] of Object.entries(others)) {
      // Fails for a file that another process has written since.
      await writeFile(join(folder, file), text, { flag: 'wx' })
    }
    await writeFile(join(folder, MANIFEST), merged, { flag: manifest === undefined ? 'wx' : 'w' })
    if (args.flag('json')) {
      out.json({ folder, files: Object.keys(files) }, 2)
      return EXIT.ok
    }
    const written = manifest === undefined ? files : others
    const kept = manifest === undefined ? '' : `, and what ${MANIFEST} lacked`
    out.line(
      `Wrote ${Object.keys(written).length} files of ${LANGUAGES[language]} to ${folder}${kept}`,
      ...(hasLoader ? [`${HAS_LOADER}: this is ${process.version}`] : []),
      ...(isLlm && majorOfNode() < AI_NODE
        ? [`AI SDK needs Node ${AI_NODE} or later: this is ${process.version}`]
        : []),
      '',
      bold('Next'),
      ...(folder === cwd ? [] : [`  cd ${quoted(args.at(0))}`]),
      ...stepsOf(project, manifest).map((step) => `  ${step}`),
    )
    return EXIT.ok
  },
}

const NPM_PLACEHOLDER = 'echo "Error: no test specified" && exit 1'

/**
 * The manifest of a project that is there.
 *
 * @throws {CommandFailure} for one with which the files would not run.
 */
async function readManifest(path: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  if (!existsSync(path)) return undefined
  let json: unknown
  try {
    json = JSON.parse(await readFile(path, 'utf8'))
  } catch {
    json = undefined
  }
  if (!isObject(json)) throw usageFailure(`${path} is not a JSON object`, 'Nothing was written')
  const { type = 'module' } = json
  if (type === 'module') return withoutPlaceholder(json)
  throw usageFailure(
    `${path} is of a project of CommonJS: its "type" is ${JSON.stringify(type)}`,
    'Nothing was written. Run: npm pkg set type=module, or choose an empty folder',
  )
}

/** Without the script that `npm init` writes, which only says that there is no test. */
function withoutPlaceholder(manifest: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { scripts } = manifest
  if (!isObject(scripts) || scripts['test'] !== NPM_PLACEHOLDER) return manifest
  return { ...manifest, scripts: { ...scripts, test: undefined } }
}

/** What the user does next. A script that was there before may do something else. */
function stepsOf(project: Project, manifest: unknown): string[] {
  const { scripts } = isObject(manifest) ? manifest : {}
  const present = isObject(scripts) ? scripts : {}
  const { test, start } = scriptsOf(project)
  return [
    'npm install',
    (present['test'] ?? test) === test ? 'npm test' : test,
    (present['start'] ?? start) === start ? 'npm start' : start,
  ]
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

function majorOfNode(): number {
  return Number(process.versions.node.split('.', 1)[0])
}

function runsTypeScript(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return major > 22 || (major === 22 && minor >= 18)
}
