/**
 * Every text that an agent can send, in every place where a command shows one: no text has a character that a terminal obeys
 * or hides, and none begins a line that the program would write.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { samples } from '../support/samples.js'
import { run } from './support/program.js'

const LINE_ENDS = ['\n', '\r', '\r\n', '\v', '\f', '\x85', '\u2028', '\u2029', '\n\n \n']
const INVISIBLE = [
  ...['\u200b', '\u200c', '\u200d', '\u2060', '\u00ad', '\u115f', '\u3164', '\ufeff', '\u034f', '\u2064'],
  ...['\u202a', '\u202e', '\u2066', '\u2069', '\u200e', '\u061c', '\ufe0f', '\u{e0101}', '\u{e0041}'],
]
const CONTROLS = ['\x1b[2J', '\x1b]52;c;aGk=\x07', '\x9b1A', '\x08', '\0', '\x7f']
/** How lines of the program begin. `FORGED` says that an agent has written it. */
const LINES = [
  ...['Error: FORGED', 'To answer: FORGED', 'The task has failed FORGED', '· completed FORGED'],
  ...['State    completed FORGED', 'Conversation FORGED', 'Task     FORGED', 'Signed by the key FORGED'],
  ...['Warning: FORGED', 'Checking FORGED', 'Nothing was written FORGED'],
]
const piece = fc.oneof(
  ...[LINE_ENDS, INVISIBLE, CONTROLS, LINES, ['word', ' ', '"', "'", '$(id)']].map((texts) =>
    fc.constantFrom(...texts),
  ),
)
/** Each has a line end before a line of the program. */
const hostile = fc
  .tuple(fc.array(piece, { maxLength: 4 }), fc.constantFrom(...LINE_ENDS), fc.constantFrom(...LINES), piece)
  .map(([before, end, line, after]) => [...before, end, line, after].join(''))

/** What a terminal obeys, or shows as nothing. */
const UNSAFE = /[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]|\p{Default_Ignorable_Code_Point}/u

/** A card whose every text is this one. */
function cardOf(url: string, text: string): object {
  const skill = { id: text, name: text, description: text, tags: [text], examples: [text] }
  return {
    ...{ name: text, description: text, version: text, documentationUrl: text, iconUrl: text },
    provider: { organization: text, url: text },
    capabilities: { streaming: true, extensions: [{ uri: text, description: text }] },
    ...{ defaultInputModes: [text], defaultOutputModes: [text], skills: [skill] },
    supportedInterfaces: [
      { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url, protocolBinding: `${text}X`, protocolVersion: text, tenant: text },
    ],
    securitySchemes: { [text]: { httpAuthSecurityScheme: { scheme: text } } },
    securityRequirements: [{ schemes: { [text]: { list: [text] } } }],
  }
}

/** A task whose every text is this one. */
function taskOf(
  state: string,
  text: string,
): { id: string; contextId: string; status: object; artifacts: object[] } {
  const parts = [
    { text },
    { data: { [text]: text } },
    { url: `https://x.example/${text}`, filename: text, mediaType: text },
    { raw: 'AAAA', filename: text, mediaType: text },
  ]
  const message = { messageId: text, role: 'ROLE_AGENT', parts, metadata: { [text]: text } }
  return {
    ...{ id: text, contextId: text, metadata: { [text]: text }, history: [message] },
    status: { state, timestamp: '2026-01-01T00:00:00.000Z', message },
    artifacts: [{ artifactId: text, name: text, description: text, parts }],
  }
}

/** A task that keeps its id: `watch` reads no other than the one that it is told to. */
const WATCHED = 'watched'

/** Answers as the state says: a task that ends in it, a `message`, or an `error`. */
async function serve(text: string, state: string): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { url = '' } = request
      if (request.method === 'GET') {
        const found = url.endsWith('agent-card.json')
        response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' })
        response.end(found ? JSON.stringify(cardOf(at, text)) : text)
        return
      }
      const { id, method, params } = requestOf(chunks)
      const write = (result: object): string => JSON.stringify({ jsonrpc: '2.0', id, ...result })
      const idOf = params?.id === WATCHED ? { id: WATCHED } : {}
      const task = { ...taskOf(state, text), ...idOf }
      const reply = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text }] }
      if (state === 'error') {
        response.setHeader('content-type', 'application/json')
        response.end(write({ error: { code: -32_004, message: text, data: [{ [text]: text }] } }))
      } else if (method === 'SendStreamingMessage' || method === 'SubscribeToTask') {
        response.setHeader('content-type', 'text/event-stream')
        const { contextId, status, artifacts } = task
        const taskId = task.id
        const artifactUpdate = { taskId, contextId, artifact: artifacts[0] }
        const events =
          state === 'message'
            ? [{ message: reply }]
            : [
                { task: { ...taskOf('TASK_STATE_WORKING', text), ...idOf } },
                { artifactUpdate },
                { artifactUpdate: { ...artifactUpdate, append: true } },
                { statusUpdate: { taskId, contextId, status } },
              ]
        response.end(events.map((result) => `data: ${write({ result })}\n\n`).join(''))
      } else {
        response.setHeader('content-type', 'application/json')
        const page = { tasks: [task, task], totalSize: 2, pageSize: 2, nextPageToken: '' }
        const sent = state === 'message' ? { message: reply } : { task }
        response.end(
          write({ result: method === 'ListTasks' ? page : method === 'SendMessage' ? sent : task }),
        )
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return at
}

interface Asked {
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: { readonly id?: unknown }
}

/** `check` sends bodies that are no JSON, too. */
function requestOf(chunks: readonly Buffer[]): Asked {
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as Asked
  } catch {
    return {}
  }
}

const STATES = [
  ...['COMPLETED', 'FAILED', 'REJECTED', 'CANCELED', 'INPUT_REQUIRED', 'AUTH_REQUIRED'].map(
    (state) => `TASK_STATE_${state}`,
  ),
  ...['message', 'error'],
]

/** Commands whose stdout is the answer of the agent as it stands, and those whose stdout is lines of the program. */
const ANSWERS = [['send'], ['send', '--stream'], ['send', '-q'], ['watch'], ['watch', '--stream']]
const REPORTS: readonly (readonly string[])[] = [
  ['get'],
  ['list'],
  ['cancel'],
  ['card'],
  ['send', '--no-wait'],
]

async function expectSafe(text: string, state: string, command: readonly string[]): Promise<void> {
  const url = await serve(text, state)
  const [name = '', ...options] = command
  const rest = { send: ['x'], get: ['t'], watch: [WATCHED], cancel: ['t'] }[name] ?? []
  const { stdout, stderr } = await run([name, url, ...rest, ...options, '-v'])
  const shown = { text, state, command, stdout, stderr }
  expect(stdout + stderr, JSON.stringify(shown)).not.toMatch(UNSAFE)
  // A message is an answer, and printed as it stands.
  const isReport = REPORTS.includes(command) && state !== 'message'
  const forged = `${isReport ? stdout : ''}\n${stderr}`.split('\n').filter((line) => isForged(line))
  expect(forged, JSON.stringify(shown)).toEqual([])
}

function isForged(line: string): boolean {
  return LINES.some((each) => line.startsWith(each))
}

describe.each([...ANSWERS, ...REPORTS].map((command) => [command.join(' '), command] as const))(
  '%s shows no text of an agent',
  (_, command) => {
    test('that its terminal would obey, hide, or take for a line of the program', async () => {
      const states = command[0] === 'card' ? ['message'] : STATES
      for (const state of states) {
        await expectSafe('Error: FORGED\u200b\nError: FORGED\r\nTo answer: FORGED\u2066', state, command)
      }
      await fc.assert(
        fc.asyncProperty(hostile, fc.constantFrom(...states), (text, state) =>
          expectSafe(text, state, command),
        ),
        { numRuns: samples(15), endOnFailure: true },
      )
    })
  },
)

test('check reports what an agent says without obeying it', async () => {
  const url = await serve('\u200b\nChecking FORGED\nError: FORGED', 'error')
  const { stdout, stderr } = await run(['check', url])
  expect(stdout).toMatch(/got .*FORGED/)
  // A message of the checks themselves has an emoji of several characters.
  expect((stdout + stderr).replaceAll('👩\u200d🚀', '')).not.toMatch(UNSAFE)
  expect(`${stdout}\n${stderr}`.split('\n').filter((line) => isForged(line))).toEqual([])
})
