/** The program against agents over loopback: results, exit codes, errors, hostile texts, and secrets. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildAgentCard, signAgentCard } from 'a2a-tasks/agent-card'
import { exportJWK, generateKeyPair } from 'jose'
import { describe, expect, test } from 'vitest'
import { read } from '../support/repository.js'
import {
  closedUrl,
  serveAgent,
  serveCardOf,
  serveEcho,
  serveListener,
  serveOthers,
} from './support/agents.js'
import { run, runProcess, temporaryFolder } from './support/program.js'

/** What a terminal would obey. */
const CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/

test('a message is sent, its progress goes to stderr, and its result to stdout, without a sequence of the agent', async () => {
  const { code, stdout, stderr } = await run(['send', await serveAgent(), 'Hello', '--stream'])
  expect(stdout).toMatch(/^one \\x1b\[31mred.*\\x9b2J\\u202e.*two for all\n$/)
  expect(stderr).toMatch(/^· submitted\n[^]*· working {2}Working \\x1b[^]*· completed\n$/)
  expect(stdout + stderr).not.toMatch(CONTROLS)
  expect(code).toBe(0)
})

test('JSON lines have each event and the result, with the texts of the agent', async () => {
  const { stdout } = await run(['send', await serveAgent(), 'Hello', '--stream', '--json'])
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { type?: string; text?: string })
  expect(lines.length).toBeGreaterThan(5)
  expect(lines.at(-1)).toMatchObject({ type: 'completed' })
  expect(lines.at(-1)?.text).toContain('\x1b]52;c;aGk=\x07')
  expect(stdout).not.toMatch(CONTROLS)
})

test('a status is shown once, whatever is spent, and the cost once at the end', async () => {
  const url = await serveAgent()
  const { stdout, stderr } = await run(['send', url, 'spend'])
  expect(stdout).toBe('one two\n')
  expect(stderr.split('\n').filter((line) => line.includes('Thinking'))).toHaveLength(1)
  expect(stderr).toMatch(/completed\nSpent {4}15 inputTokens, 0\.5 cost\n$/)
  expect((await run(['send', url, 'spend', '--quiet'])).stderr).toBe('')
})

test('without a terminal, a question ends the program with 5, and it says how to answer', async () => {
  const url = await serveAgent()
  const asked = await run(['send', url, 'ask'])
  expect(asked.code).toBe(5)
  const [, task = ''] = /^To answer: npx a2a-tasks send \S+ 'ANSWER' --task (\S+)$/m.exec(asked.stderr) ?? []
  const answered = await run(['send', url, 'Ada', '--task', task])
  expect(answered).toMatchObject({ code: 0, stdout: 'Hello Ada\n' })
})

test('a task that takes longer than --timeout is left, and resumed by its handle; others can watch, list and cancel it', async () => {
  const url = await serveAgent()
  const left = await run(['send', url, 'wait', '--timeout', '0.5'])
  expect(left.code).toBe(6)
  const [, handle = ''] = /npx a2a-tasks resume (\S+)/.exec(left.stderr) ?? []
  const listed = await run(['list', url, '--json'])
  const { tasks } = JSON.parse(listed.stdout) as { tasks: { id: string }[] }
  const id = tasks[0]?.id ?? ''
  const watched = run(['watch', url, id])
  const canceled = await run(['cancel', url, id])
  expect(canceled).toMatchObject({ code: 0, stdout: `${id}  canceled\n` })
  expect(await watched).toMatchObject({ code: 1, stdout: '' })
  expect(await run(['resume', handle, '-q'])).toMatchObject({ code: 1, stderr: 'The task is canceled\n' })
  for (const state of ['canceled', 'cancelled']) {
    expect((await run(['list', url, '--state', state])).stdout).toContain(id)
  }
  expect((await run(['get', url, id])).stdout).toContain('State    canceled')
})

test('a file, data and standard input are parts of the message', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'note.md'), 'Hi')
  const url = await serveAgent()
  const args = ['send', url, 'Hello', '--file', 'note.md', '--data', '{"a":1}', '--json']
  const { stdout } = await run(args, { cwd: folder })
  const { task } = JSON.parse(stdout) as { task: { messages: { parts: unknown[] }[] } }
  expect(task.messages[0]?.parts).toEqual([
    { text: 'Hello' },
    { data: { a: 1 } },
    { raw: 'SGk=', filename: 'note.md', mediaType: 'text/markdown' },
  ])
})

describe('an error says what is wrong and what to do', () => {
  test.each<
    [string, (urls: { agent: string; other: string; closed: string }) => readonly string[], number, RegExp]
  >([
    ['a wrong port', ({ closed }) => ['card', closed], 3, /ECONNREFUSED[^]*Is the agent running/],
    [
      'https against http',
      ({ agent }) => ['card', agent.replace('http', 'https')],
      3,
      /not speak TLS there\n.*Try http:/,
    ],
    ['404', ({ other }) => ['send', `${other}/404`, 'x'], 3, /HTTP 404[^]*no agent at this path/],
    ['401', ({ other }) => ['card', `${other}/401`], 4, /HTTP 401[^]*A2A_BEARER/],
    [
      'an HTML answer',
      ({ other }) => ['card', `${other}/html`],
      3,
      /not JSON[^]*Is the URL that of an A2A agent/,
    ],
    ['a card without a name', ({ other }) => ['card', `${other}/empty`], 3, /card\.name is missing/],
    [
      'no such task',
      ({ agent }) => ['get', agent, 'nope'],
      4,
      /Task not found: nope\nCheck the id\. .+ those in memory at each restart/,
    ],
    [
      'a URL without a scheme',
      () => ['send', 'localhost:3000', 'x'],
      2,
      /Did you mean http:\/\/localhost:3000\?/,
    ],
    [
      'a password in the URL',
      () => ['send', 'http://me:hunter22@x', 'y'],
      2,
      /^Error: The URL contains a user name/,
    ],
    ['no command', () => [], 2, /Usage: a2a-tasks COMMAND/],
    ['a misspelt command', () => ['sned'], 2, /no command "sned"\nDid you mean send\?/],
    [
      'a misspelt option',
      ({ agent }) => ['send', agent, 'x', '--strem'],
      2,
      /no option --strem\nDid you mean --stream\?/,
    ],
    ['an option without its value', ({ agent }) => ['send', agent, 'x', '--file'], 2, /--file needs a value/],
    [
      'a text that is not quoted',
      ({ agent }) => ['send', agent, 'two', 'words'],
      2,
      /"words"\n.*Quote a text/,
    ],
    ['no text', ({ agent }) => ['send', agent], 2, /The message is empty/],
    [
      'no such file',
      ({ agent }) => ['send', agent, '--file', 'nope.txt'],
      2,
      /"nope\.txt": there is no such file/,
    ],
    ['a broken handle', () => ['resume', 'a2a1_x'], 2, /not a handle/],
    ['a misspelt state', ({ agent }) => ['list', agent, '--state', 'woking'], 2, /Did you mean working\?/],
    [
      'an agent that cannot be checked',
      ({ closed }) => ['check', closed],
      3,
      /cannot be checked[^]*ECONNREFUSED/,
    ],
    ['a store of no kind', () => ['migrate', 'mysql://x'], 2, /no store for mysql/],
    [
      'a driver that is missing',
      () => ['migrate', 'postgres://me:hunter22@127.0.0.1:9/x'],
      2,
      /npm install pg/,
    ],
    ['no file to serve', () => ['dev', 'nope.js'], 2, /no file "nope\.js"/],
    ['a folder that is not empty', () => ['init', '.'], 2, /README\.md already\nNothing was written/],
  ])('%s', async (_, argsOf, expected, message) => {
    const urls = { agent: await serveAgent(), other: await serveOthers(), closed: await closedUrl() }
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'package.json'), '{}')
    writeFileSync(join(folder, 'README.md'), '')
    const { code, stdout, stderr } = await run(argsOf(urls), { cwd: folder })
    expect({ code, stdout }).toEqual({ code: expected, stdout: '' })
    expect(stderr).toMatch(message)
    expect(stderr).not.toMatch(CONTROLS)
    expect(stderr).not.toContain('hunter22')
  })
})

test('the stack of an error is shown with --verbose', async () => {
  const url = await serveOthers()
  const plain = await run(['card', `${url}/401`])
  expect(plain.stderr).not.toContain('    at ')
  const { code, stderr } = await run(['card', `${url}/401`, '--verbose'])
  expect(code).toBe(4)
  expect(stderr).toMatch(/^\w+Error: .+ \(EXTERNAL_SERVICE_ERROR\)\n {4}(at|…) /m)
})

test('no handle is offered where it cannot help', async () => {
  const agent = await serveAgent()
  const { task } = JSON.parse((await run(['send', agent, 'x', '--json'])).stdout) as { task: { id: string } }
  for (const command of [
    ['watch', agent, 'nope'],
    ['send', agent, 'x', '--task', 'nope'],
    ['send', agent, 'x', '--task', task.id],
  ]) {
    const { code, stderr } = await run(command)
    expect(code).toBe(4)
    expect(stderr).toMatch(/Task not found: nope\n|task in terminal state/)
    expect(stderr).not.toContain('a2a-tasks resume')
    const { error, resume } = JSON.parse((await run([...command, '--json'])).stdout) as Record<
      string,
      unknown
    >
    expect(error).toBeDefined()
    expect(resume).toBeUndefined()
  }
})

test('where an agent without users lists no tasks, list and inspect say what to do', async () => {
  const agent = await serveAgent({ isShared: false })
  const refused = await run(['list', agent])
  expect(refused).toMatchObject({ code: 4, stdout: '' })
  expect(refused.stderr).toMatch(/\nPass --context ID .+ `anonymous: 'shared'` of createRequestHandler/)
  const { task } = JSON.parse((await run(['send', agent, 'x', '--json'])).stdout) as {
    task: { contextId: string }
  }
  expect(await run(['list', agent, '--context', task.contextId])).toMatchObject({
    code: 0,
    stderr: '1 tasks\n',
  })
})

describe('credentials', () => {
  const token = 'tok-en.123456'

  test.each<[string, readonly string[], Readonly<Record<string, string>>]>([
    ['an option', ['--bearer', token], {}],
    ['a header', ['--header', `Authorization: Bearer ${token}`], {}],
    ['the environment', [], { A2A_BEARER: token }],
    ['a header of the environment', [], { A2A_HEADER: `Authorization: Bearer ${token}` }],
    ['an option, over the environment', ['--bearer', token], { A2A_BEARER: 'another-token' }],
  ])('of %s are sent, and not shown', async (_, args, env) => {
    const ended = await run(['send', await serveAgent({ token }), 'Hello', '-v', ...args], { env })
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/for ada\n$/) as unknown })
    expect(ended.stdout + ended.stderr).not.toContain(token)
    expect(ended.stderr).toMatch(/^POST \S+ 200 \(\d+ ms\)$/m)
  })

  test('that are wrong are refused, and not shown', async () => {
    const { code, stderr } = await run(['send', await serveAgent({ token }), 'x', '--bearer', 'wrong-token'])
    expect(code).toBe(4)
    expect(stderr).toMatch(/A2A_BEARER/)
    expect(stderr).not.toContain('wrong-token')
  })

  test('with characters that no token has are refused, and not shown', async () => {
    const bearer = `Bearer ${token}`
    const ended = await run(['send', await serveAgent({ token }), 'x', '--bearer', bearer])
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('such as a space') as unknown })
    expect(ended.stdout + ended.stderr).not.toContain(token)
  })

  test.each(['send', 'get', 'card'])(
    'that an agent repeats are shown neither by %s nor in its JSON',
    async (command) => {
      const url = await serveEcho()
      for (const args of [[], ['--json']]) {
        const header = `Authorization: Basic ${token}`
        const rest = command === 'send' ? ['x'] : command === 'get' ? ['some-task'] : []
        const { stdout, stderr } = await run([command, url, ...rest, '--header', header, '-v', ...args])
        expect(stdout + stderr).toContain('***')
        expect(stdout + stderr).not.toContain(token)
      }
    },
  )

  test.each<string[]>([[], ['--json'], ['--stream'], ['--stream', '--json']])(
    'that an agent returns in pieces are shown by no output %s %s',
    async (...options) => {
      const url = await serveAgent({ token })
      const sent = await run(['send', url, `spell ab ${token} cd`, '--bearer', token, ...options])
      expect(sent.code).toBe(0)
      expect(sent.stdout).toContain('***')
      // Neither as a text, nor in the pieces of which a reader of the JSON makes one.
      const texts = [...sent.stdout.matchAll(/"text":\s*"([^"]*)"/g)].map(([, text]) => text)
      expect(sent.stdout + texts.join('')).not.toContain(token)
      expect(options.includes('--json') ? texts.join('') : sent.stdout).toContain('ab *** cd')
    },
  )

  test('of a profile go to its own origin only, with a warning if others can read the file', async () => {
    const url = await serveAgent({ token })
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'a2a-tasks'))
    const file = join(folder, 'a2a-tasks/profiles.json')
    writeFileSync(
      file,
      JSON.stringify({ local: { url, bearer: token }, other: { url: 'https://x.example', bearer: token } }),
    )
    chmodSync(file, 0o644)
    const env = { XDG_CONFIG_HOME: folder }
    const sent = await run(['send', url, 'Hello', '--profile', 'local'], { env })
    expect(sent).toMatchObject({ code: 0, stderr: expect.stringContaining('chmod 600') as unknown })
    const other = await run(['send', url, 'Hello', '--profile', 'other'], { env })
    expect(other).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is for https://x.example') as unknown,
    })
    const misspelt = await run(['send', url, 'Hello', '--profile', 'lcoal'], { env })
    expect(misspelt).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Did you mean local?') as unknown,
    })
    expect(sent.stderr + other.stderr + misspelt.stderr).not.toContain(token)
  })
})

test.each([['send'], ['get'], ['cancel'], ['list'], ['check']])(
  'the credentials of a profile stay at its origin, wherever the card leads %s',
  async (command) => {
    const { url: other, heard } = await serveListener()
    const url = await serveCardOf(other)
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'a2a-tasks'))
    const file = join(folder, 'a2a-tasks/profiles.json')
    const own = { url, bearer: 'tok-en.123456', headers: { 'X-Key': 'key-123456' } }
    writeFileSync(file, JSON.stringify({ own }), { mode: 0o600 })
    const rest = { send: ['x'], get: ['some-task'], cancel: ['some-task'] }[command] ?? []
    const args = [command, url, ...rest, '--profile', 'own']
    const { stderr } = await run(args, { env: { XDG_CONFIG_HOME: folder } })
    expect(heard.join()).toContain('a2a-version')
    expect(heard.join()).not.toMatch(/123456/)
    expect(stderr).toContain(`${other} gets no credentials: the profile "own" is for ${url}\n`)
  },
)

test('a card is shown with its problems, compared with another one, and its text obeyed by no terminal', async () => {
  const url = await serveAgent()
  const shown = await run(['card', url])
  expect(shown.stdout).toMatch(
    /^Agent {4}Hostile \\x1b\[31m[^]*JSONRPC 1\.0 +http:[^]*Nothing that a client would stumble on\n$/,
  )
  const raw = await run(['card', url, '--raw'])
  expect(shown.stdout + raw.stdout).not.toMatch(CONTROLS)
  const folder = temporaryFolder()
  const card = JSON.parse(raw.stdout) as Record<string, unknown>
  writeFileSync(join(folder, 'card.json'), JSON.stringify({ ...card, version: '9.9.9' }))
  const same = await run(['card', 'diff', url, url])
  expect(same).toMatchObject({ code: 0, stdout: 'No differences\n' })
  const other = await run(['card', 'diff', url, 'card.json'], { cwd: folder })
  expect(other).toMatchObject({ code: 1, stdout: '~ version  "1.0.0" → "9.9.9"\n' })
})

test('the signatures of a card are verified by --verify, with keys of a file', async () => {
  const unsigned = await run(['card', await serveAgent(), '--verify'])
  expect(unsigned).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('No valid signature') as unknown,
  })
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const card = buildAgentCard({ name: 'Signed', description: 'Does', url: 'https://a.example' })
  const signed = await signAgentCard(card, { key: privateKey, kid: 'k1', alg: 'ES256' })
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'card.json'), JSON.stringify(signed))
  writeFileSync(join(folder, 'forged.json'), JSON.stringify({ ...signed, name: 'Forged' }))
  writeFileSync(
    join(folder, 'keys.json'),
    JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'k1' }] }),
  )
  const right = await run(['card', 'card.json', '--key', 'keys.json'], { cwd: folder })
  expect(right).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Signed by the key k1 (ES256)') as unknown,
  })
  expect((await run(['card', 'forged.json', '--key', 'keys.json'], { cwd: folder })).code).toBe(1)
})

test('colours are only on a terminal, or by FORCE_COLOR', async () => {
  const url = await serveAgent()
  const plain = await run(['get', url, 'nope'])
  expect(plain.stderr).not.toContain('\x1b')
  const forced = await run(['get', url, 'nope'], { env: { FORCE_COLOR: '1' } })
  expect(forced.stderr).toContain('\x1b[31mError:\x1b[0m')
})

test('the version is that of the package, and --json makes an error a document', async () => {
  const { version } = JSON.parse(read('package.json')) as { version: string }
  expect(await runProcess(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  const { code, stdout } = await runProcess(['get', await serveAgent(), 'nope', '--json'])
  expect(code).toBe(4)
  expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'TASK_NOT_FOUND', exitCode: 4 } })
})
