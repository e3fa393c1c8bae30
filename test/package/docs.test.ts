/**
 * Examples of the documentation: a block marked ` ```ts run ` or ` ```js run ` is type-checked, run against the built
 * package, and prints what the ` ```text ` block right after it says; links lead somewhere. An agent marked
 * ` ```ts serve ` is talked to by the curl commands of its page, and answers what their ` ```text ` blocks say.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { afterAll, describe, expect, it } from 'vitest'
import ts from 'typescript'
import { Consumer } from '../support/consumer.js'
import { anchorsOf, isPrinted, linksOf, programsOf, type Program } from '../support/markdown.js'
import { FILES, read, ROOT, SOURCES } from '../support/repository.js'

const PAGES = FILES.filter((file) => file.endsWith('.md'))
const PROGRAMS = PAGES.flatMap((page) => programsOf(page, read(page)))
const AGENTS = PAGES.flatMap((page) => agentsOf(page, read(page)))

const consumer = new Consumer()
afterAll(() => {
  consumer.remove()
})

describe('the README', () => {
  it('has a program that runs as pasted, in its first screenful', () => {
    const [first] = PROGRAMS.filter(({ at }) => at.startsWith('README.md:'))
    expect(Number(first?.at.split(':')[1])).toBeLessThanOrEqual(30)
  })
})

describe.each(PROGRAMS)('the program at $at', { timeout: 90_000 }, (program) => {
  const file = consumer.write(`${program.at.replace(/\W/g, '-')}.${program.language}`, program.code)

  it('runs, and prints what it says', async () => {
    expectOutput(await consumer.run(file), program)
  })
})

describe('all programs', () => {
  it('have right types', { timeout: 90_000 }, () => {
    expect(typeErrors([...PROGRAMS, ...AGENTS])).toEqual([])
  })
})

describe.each(AGENTS)('the agent at $at', { timeout: 90_000 }, (agent) => {
  it('answers its page', async () => {
    // Of tests that run at a time, each has a port of its own.
    const listening = '.listen(0, function () { console.log(this.address().port) })'
    const code = agent.code.replace('.listen(3000)', listening)
    const file = consumer.write(`${agent.at.replace(/\W/g, '-')}.ts`, code)
    const server = spawn(process.execPath, [consumer.compile(file)], {
      cwd: consumer.folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    try {
      const [port] = (await once(server.stdout, 'data')) as [Buffer]
      const talks = talksOf(read(pageOf(agent)))
      expect(talks).not.toEqual([])
      let task = ''
      for (const { commands, output } of talks) {
        const answers: string[] = []
        for (const command of commands) {
          const answer = await curl(command, { origin: `http://localhost:${Number(port)}`, task, output })
          task = /^(?:data: )?\{"task":\{"id":"([^"]+)/m.exec(answer)?.[1] ?? task
          answers.push(answer)
        }
        const said = answers.join('\n')
        if (!isPrinted(said, output)) expect(said).toBe(output)
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

describe('docs/architecture.md and docs/performance.md', () => {
  it('name files and folders of src/ that exist', () => {
    const text = read('docs/architecture.md') + read('docs/performance.md')
    const folders = [...new Set(SOURCES.map((file) => dirname(file)))]
    const names = [...text.matchAll(/`([a-z-]+(?:\/[a-z0-9-]+)+)(?:\.ts)?`/g)].map(([, name = '']) => name)
    const missing = names.filter((name) => !SOURCES.includes(`${name}.ts`) && !folders.includes(name))
    expect(names).toContain('core/decide')
    expect(missing.filter((name) => folders.includes(name.split('/')[0] ?? ''))).toEqual([])
  })
})

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

  it('by its types', () => {
    const bad = [
      `import { TaskManager } from 'a2a-tasks'\nnew TaskManager({ maxTask: 1 })`,
      `const response = await fetch('https://agent.example')\nconst { task } = await response.json()`,
    ]
    const text = bad.map((code) => `\`\`\`ts run\n${code}\n\`\`\`\n`).join('')
    expect(typeErrors(programsOf('page.md', text))).toEqual([
      expect.stringMatching(/^page\.md:3: .*maxTask/),
      expect.stringMatching(/^page\.md:7: .*task.*unknown|^page\.md:7: .*'\{\}'/),
    ])
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

function expectOutput(printed: string, { output }: Program): void {
  if (output !== undefined && !isPrinted(printed, output)) expect(printed).toBe(output)
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor] = decodeURIComponent(link).split('#')
  const target = path === '' ? page : join(dirname(page), path)
  if (!existsSync(ROOT + target)) return false
  return anchor === undefined || !target.endsWith('.md') || anchorsOf(read(target)).includes(anchor)
}

function pageOf({ at }: Program): string {
  return at.slice(0, at.lastIndexOf(':'))
}

/** Programs that run until they are stopped. */
function agentsOf(page: string, text: string): Program[] {
  return programsOf(page, text.replace(/^```ts run$/gm, '```ts').replace(/^```ts serve$/gm, '```ts run'))
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

/** Types as of the sources, in one program: each block is a module of its own, with the lines of its page. */
function typeErrors(programs: readonly Program[]): string[] {
  const { options } = ts.parseJsonConfigFileContent(JSON.parse(read('tsconfig.json')), ts.sys, ROOT)
  // With declarations of the DOM, which Node programs lack, `response.json()` would be `any`.
  Object.assign(options, { allowJs: true, checkJs: true, moduleDetection: ts.ModuleDetectionKind.Force })
  const blocks = new Map(
    programs.map((program) => {
      const line = Number(program.at.slice(pageOf(program).length + 1))
      return [`${ROOT}${program.at.replace(/\W/g, '-')}.${program.language}`, { program, line }]
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
