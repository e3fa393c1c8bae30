/**
 * Examples of the documentation. `npm test` runs those of the first two pages, `npm run test:all` those of all.
 *
 * A block marked ` ```ts run ` or ` ```js run ` is type-checked, run against the built package, and prints what the ` ```text `
 * block right after it says; links lead somewhere. The curl commands of a page and its blocks marked ` ```ts client ` call its
 * agent, which is marked ` ```ts serve `, and print what their ` ```text ` blocks say. A block marked ` ```ts module ` begins
 * with its name, ` // agent.js `, by which the others import it. Blocks marked ` ```ts ai ` need AI SDK: `test/frameworks` compiles
 * and runs them.
 */
import { spawn } from 'node:child_process'
import { on } from 'node:events'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import ts from 'typescript'
import { parse } from 'yaml'
import { Consumer } from '../support/consumer.js'
import { anchorsOf, isPrinted, linksOf, programsOf, type Program } from '../support/markdown.js'
import { PAGES, read, ROOT, SOURCES } from '../support/repository.js'
import { runsAll } from '../support/samples.js'

const PROGRAMS = programsMarked('run')
const AGENTS = programsMarked('serve')
const CLIENTS = programsMarked('client')
const MODULES = programsMarked('module')

/** The pages that a newcomer reads first. */
const FIRST_PAGES = ['README.md', 'docs/get-started.md']
const isRun = (program: Program): boolean => runsAll || FIRST_PAGES.includes(pageOf(program))

/** Packages that pages import beside this one. A scope stands for all of its packages. */
const PACKAGES = [
  'zod',
  ...['express', 'fastify', 'hono', '@hono', '@nestjs', 'reflect-metadata', 'rxjs'],
  ...['@a2a-js', '@electric-sql', '@opentelemetry'],
]

/** Loaded before an agent of a page. Tests run at the same time, so each server listens on its own port, and prints it. */
const ANY_PORT = `import { Server } from 'node:net'
const { listen } = Server.prototype
Server.prototype.listen = function (where, ...rest) {
  this.once('listening', () => console.log('port', this.address().port))
  return listen.call(this, typeof where === 'object' ? { ...where, port: 0 } : 0, ...rest)
}
`

const consumer = new Consumer()
consumer.install(...PACKAGES)
const anyPort = consumer.write('any-port.mjs', ANY_PORT)
afterAll(() => {
  consumer.remove()
})

// As they stand: they are JavaScript, too.
for (const { code } of MODULES) consumer.write(nameOf(code) ?? '', code)

describe('the README', () => {
  it('has a program that runs as pasted, in its first screenful', () => {
    const [first] = programsOf('README.md', read('README.md'), 'ai')
    expect(Number(first?.at.split(':')[1])).toBeLessThanOrEqual(20)
  })
})

describe.concurrent.each(PROGRAMS.filter(isRun))('the program at $at', { timeout: 90_000 }, (program) => {
  const file = consumer.write(`${program.at.replace(/\W/g, '-')}.${program.language}`, program.code)

  it('runs, and prints what it says', async () => {
    expectOutput(await consumer.run(file, { PORT: '0' }), program)
  })
})

describe(runsAll ? 'all programs' : 'the programs of the first pages', () => {
  it('have right types, and a page that is wrong is found', { timeout: 90_000 }, () => {
    const bad = [
      `import { TaskManager } from 'a2a-tasks'\nnew TaskManager({ maxTask: 1 })`,
      `const response = await fetch('https://agent.example')\nconst { task } = await response.json()`,
    ]
    const text = bad.map((code) => `\`\`\`ts run\n${code}\n\`\`\`\n`).join('')
    const programs = [...PROGRAMS, ...AGENTS, ...CLIENTS, ...MODULES].filter(isRun)
    expect(programs).not.toEqual([])
    // One program of the compiler: each takes seconds.
    expect(typeErrors([...programs, ...programsOf('page.md', text)])).toEqual([
      expect.stringMatching(/^page\.md:3: .*maxTask/),
      expect.stringMatching(/^page\.md:7: .*task.*unknown|^page\.md:7: .*'\{\}'/),
    ])
  })
})

describe.each(AGENTS.filter(isRun))('the agent at $at', { timeout: 90_000 }, (agent) => {
  it('answers its page', async () => {
    const file = consumer.write(`${agent.at.replace(/\W/g, '-')}.ts`, agent.code)
    const program = consumer.compile(file)
    const server = spawn(process.execPath, ['--import', pathToFileURL(anyPort).href, program], {
      cwd: consumer.folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    try {
      const port = await portOf(server.stdout)
      const talks = talksOf(read(pageOf(agent)))
      expect(talks).not.toEqual([])
      let task = ''
      for (const { commands, output } of talks) {
        const answers: string[] = []
        for (const command of commands) {
          const answer = await curl(command, { origin: `http://localhost:${port}`, task, output })
          task = /^(?:data: )?\{"task":\{"id":"([^"]+)/m.exec(answer)?.[1] ?? task
          answers.push(answer)
        }
        const said = answers.join('\n')
        if (!isPrinted(said, output)) expect(said).toBe(output)
      }
      for (const client of CLIENTS.filter(({ at }) => pageOf({ at }) === pageOf(agent))) {
        expectOutput(await consumer.run(writeClient(client, Number(port))), client)
      }
    } finally {
      server.kill()
    }
  })
})

describe.each(PAGES)('%s', (page) => {
  it('links to what is there', () => {
    const dead = linksOf(read(page)).filter((link) => !/^[a-z]+:/.test(link) && !leadsSomewhere(page, link))
    expect(dead).toEqual([])
  })
})

describe('docs/README.md', () => {
  it('links to each page', () => {
    const index = linksOf(read('docs/README.md')).map((link) => `docs/${link}`)
    const pages = PAGES.filter((page) => /^docs\/(?!reference\/api\/|README)/.test(page))
    expect(pages.filter((page) => !index.includes(page))).toEqual([])
  })
})

describe('docs/design/architecture.md and docs/design/performance.md', () => {
  it('name files and folders of src/ that exist', () => {
    const text = read('docs/design/architecture.md') + read('docs/design/performance.md')
    const folders = [...new Set(SOURCES.map((file) => dirname(file)))]
    const names = [...text.matchAll(/`([a-z-]+(?:\/[a-z0-9-]+)+)(?:\.ts)?`/g)].map(([, name = '']) => name)
    const missing = names.filter((name) => !SOURCES.includes(`${name}.ts`) && !folders.includes(name))
    expect(names).toContain('core/decide')
    expect(missing.filter((name) => folders.includes(name.split('/')[0] ?? ''))).toEqual([])
  })
})

describe('docs/operate', () => {
  it('has manifests that are YAML, and leave a pod more time than it needs to stop', () => {
    const page = read('docs/operate/deployment.md')
    const [, manifest = ''] = /^```yaml\n([^]*?)^```$/m.exec(page) ?? []
    const { spec } = (parse(manifest) as { spec: { template: { spec: PodSpec } } }).spec.template
    const [container] = spec.containers
    const graceMs = Number(/close\(\{ graceMs: ([\d_]+) \}\)/.exec(page)?.[1]?.replace('_', ''))
    const needed = Number(container?.lifecycle.preStop.sleep.seconds) + graceMs / 1000
    expect(needed).toBeGreaterThan(0)
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(needed)
  })

  it('has no measured number that docs/design/performance.md has not', () => {
    const measured = /\b[\d,.]+ (?:B|ms)(?= of heap| \(rss\)| +\|| at the)|\b[\d,]+ \/s/g
    const numbers = [...read('docs/operate/sizing.md').matchAll(measured)].map(([number]) => number)
    expect(numbers.length).toBeGreaterThan(8)
    const table = read('docs/design/performance.md')
    expect(numbers.filter((number) => !table.includes(number))).toEqual([])
  })
})

/** The used part of a pod of Kubernetes. */
interface PodSpec {
  readonly terminationGracePeriodSeconds: number
  readonly containers: readonly {
    readonly lifecycle: { readonly preStop: { readonly sleep: { readonly seconds: number } } }
  }[]
}

describe('a page that is wrong is found', () => {
  const page = '# One\n```ts run\nconsole.log(1 + 1)\n```\n\n```text\n2\n```\n\n## One\n'

  it('by what its program prints', () => {
    const [program] = programsOf('page.md', page)
    expect(program).toMatchObject({ at: 'page.md:2', language: 'ts', output: '2' })
    expect(programsOf('page.md', page.replace('\n```text', 'So:\n```text'))).toMatchObject([
      { output: undefined },
    ])
    expect(isPrinted('2\n', '2')).toBe(true)
    expect(isPrinted('3\n', '2')).toBe(false)
    expect(isPrinted('2\n3\n', '2')).toBe(false)
    expect(isPrinted('task 7f3a done\n', 'task … done')).toBe(true)
  })

  it('by its links', () => {
    expect(linksOf('[a](b.md#c) `[x](y)` [d](https://e)\n[f]: g.md\n')).toEqual([
      'b.md#c',
      'https://e',
      'g.md',
    ])
    expect(anchorsOf(page)).toEqual(['one', 'one-1'])
    expect(anchorsOf('## `waitFor(id, { until })`: the *end*')).toEqual(['waitforid--until--the-end'])
    expect(leadsSomewhere('docs/page.md', '../src/nowhere.ts')).toBe(false)
    expect(leadsSomewhere('docs/page.md', '../src/index.ts')).toBe(true)
  })
})

/** The port that a server has printed, of all that it prints. */
async function portOf(stdout: NodeJS.ReadableStream): Promise<string> {
  let output = ''
  for await (const [chunk] of on(stdout, 'data', { close: ['end'] }) as AsyncIterable<[Buffer]>) {
    output += chunk.toString()
    const [, port] = /^port (\d+)$/m.exec(output) ?? []
    if (port !== undefined) return port
  }
  throw new Error(`The agent does not listen:\n${output}`)
}

function expectOutput(printed: string, { output }: Program): void {
  if (output !== undefined && !isPrinted(printed, output)) expect(printed).toBe(output)
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor] = decodeURIComponent(link).split('#')
  const target = path === '' ? page : join(dirname(page), path)
  if (!existsSync(ROOT + target)) return false
  return anchor === undefined || !target.endsWith('.md') || anchorsOf(read(target)).includes(anchor)
}

function pageOf({ at }: Pick<Program, 'at'>): string {
  return at.slice(0, at.lastIndexOf(':'))
}

function programsMarked(mark: string): Program[] {
  return PAGES.flatMap((page) => programsOf(page, read(page), mark))
}

/** The name of a module, which its first line has. */
function nameOf(code: string): string | undefined {
  return /^\/\/ ([a-z-]+\.js)\n/.exec(code)?.[1]
}

/** A client whose requests to port 3000, which the agent's card names as well, go to another port. */
function writeClient({ at, code }: Program, port: number): string {
  const name = at.replace(/\W/g, '-')
  const redirect = `const { fetch } = globalThis
globalThis.fetch = (url, init) => fetch(String(url).replace(':3000', ':${port}'), init)`
  consumer.write(`${name}-port.mjs`, redirect)
  return consumer.write(`${name}.ts`, `import './${name}-port.mjs'\n${code}`)
}

interface Talk {
  readonly commands: readonly string[]
  readonly output: string
}

/** The curl commands of a page, with what they print, one after the other. */
function talksOf(text: string): Talk[] {
  return [...text.matchAll(/^```sh\n((?:curl .*\n)+)```\n+```text\n([^]*?)\n```$/gm)].map(
    ([, commands = '', output = '']) => ({ commands: commands.trimEnd().split('\n'), output }),
  )
}

interface Surroundings {
  readonly origin: string
  readonly task: string
  readonly output: string
}

/** As much of curl as the pages use. With `-m` it leaves when it has read what the page says. */
async function curl(command: string, { origin, task, output }: Surroundings): Promise<string> {
  const [, ...words] = wordsOf(command, task)
  const headers = new Headers()
  let [url, method, body, isImpatient]: [string, string, string | null, boolean] = ['', 'GET', null, false]
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === '-N') continue
    if (!word.startsWith('-')) url = word.replace('http://localhost:3000', origin)
    else if (word === '-X') method = words.shift() ?? ''
    else if (word === '-m') isImpatient = words.shift() !== ''
    else if (word === '-H') headers.append(...((words.shift() ?? '').split(': ') as [string, string]))
    else if (word === '--json') {
      ;[method, body] = ['POST', words.shift() ?? '']
      headers.set('content-type', 'application/json')
      headers.set('accept', 'application/json')
    } else throw new Error(`curl ${word} is not known here`)
  }
  const response = await fetch(url, { method, headers, body })
  let text = ''
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk
    if (isImpatient && isPrinted(text, output)) break
  }
  return text
}

/** A command as a shell takes it apart. */
function wordsOf(command: string, task: string): string[] {
  return [...command.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) =>
    word.replace(
      /'([^']*)'|"([^"]*)"|\$TASK/g,
      (_, plain?: string, quoted?: string) => plain ?? quoted?.replaceAll('${TASK}', task) ?? task,
    ),
  )
}

/** Types as of the sources, in one program: each block is its own module, with the lines of its page. */
function typeErrors(programs: readonly Program[]): string[] {
  const { options } = ts.parseJsonConfigFileContent(JSON.parse(read('tsconfig.json')), ts.sys, ROOT)
  // With declarations of the DOM, which Node programs lack, `response.json()` would be `any`.
  Object.assign(options, { allowJs: true, checkJs: true, moduleDetection: ts.ModuleDetectionKind.Force })
  const blocks = new Map(
    programs.map((program) => {
      const line = Number(program.at.slice(pageOf(program).length + 1))
      const name = nameOf(program.code)?.replace(/\.js$/, '') ?? program.at.replace(/\W/g, '-')
      return [`${ROOT}${name}.${program.language}`, { program, line }]
    }),
  )
  const host = ts.createCompilerHost(options)
  const getSourceFile = host.getSourceFile.bind(host)
  host.fileExists = (file) => blocks.has(file) || ts.sys.fileExists(file)
  host.readFile = (file) => {
    const block = blocks.get(file)
    return block === undefined ? ts.sys.readFile(file) : '\n'.repeat(block.line) + block.program.code
  }
  host.getSourceFile = (file, version, ...rest) =>
    blocks.has(file)
      ? ts.createSourceFile(file, host.readFile(file) ?? '', version)
      : getSourceFile(file, version, ...rest)
  const program = ts.createProgram([...blocks.keys()], options, host)
  return [...blocks].flatMap(([file, block]) => {
    const source = program.getSourceFile(file)
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
      ({ messageText, start = 0 }) => {
        const line = (source?.getLineAndCharacterOfPosition(start).line ?? 0) + 1
        return `${pageOf(block.program)}:${line}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
      },
    )
  })
}
