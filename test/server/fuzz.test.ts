/**
 * Whatever comes in, something sensible goes out: an answer or an error of the protocol, within the request's turn.
 */
import { TaskManager } from 'a2a-tasks'
import { createRequestHandler, type RequestHandler, type Run } from 'a2a-tasks/server'
import { ManualClock, sequentialIds } from 'a2a-tasks/testing'
import fc from 'fast-check'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { samples } from '../support/samples.js'

const ORIGIN = 'https://agent.test'
/** Each property has this long, or its number of runs, whichever is less. */
const BOUNDS = { interruptAfterTimeLimit: 1200, markInterruptAsFailure: false, numRuns: samples(400) }

const uncaught: unknown[] = []
const note = (error: unknown): void => void uncaught.push(error)
beforeAll(() => process.on('unhandledRejection', note).on('uncaughtException', note))
afterAll(async () => {
  await turn()
  process.off('unhandledRejection', note).off('uncaughtException', note)
  expect(uncaught).toEqual([])
})

interface Fuzzed {
  readonly handler: RequestHandler
  readonly tasks: TaskManager
  readonly clock: ManualClock
  readonly errors: unknown[]
}

/** Does something else with each message, and never waits for long. */
function execute(run: Run): string | undefined {
  switch (run.text.length % 4) {
    case 0:
      return run.text
    case 1:
      run.requireInput('More?').catch(() => undefined)
      return undefined
    case 2:
      run.artifact({ parts: [{ data: JSON.parse(JSON.stringify(run.metadata)) as unknown }] })
      return undefined
    default:
      void run.reply('No')
      return undefined
  }
}

function fuzzed(): Fuzzed {
  const clock = new ManualClock()
  const tasks = new TaskManager({ clock, generateId: sequentialIds(), whenFull: 'evict-terminal' })
  for (const path of [[], ['working'], ['working', 'input-required'], ['working', 'completed']] as const) {
    const { id } = tasks.createTask({ skill: 'test' })
    for (const state of path) tasks.updateTask(id, { state })
  }
  const errors: unknown[] = []
  const handler = createRequestHandler({
    card: { name: 'Fuzz', url: `${ORIGIN}/a2a` },
    tasks,
    clock,
    onError: (error) => errors.push(error),
    execute,
  })
  return { handler, tasks, clock, errors }
}

/** The answer, once time has passed for runs and waits; streams are left after what they have to say at once. */
async function answerOf({ handler, clock }: Fuzzed, request: Request): Promise<Response> {
  let response: Response | undefined
  const pending = handler.fetch(request).then((answered) => {
    response = answered
  })
  // A digest is made by another thread: it takes as many turns as it takes.
  for (let count = 0; response === undefined && count < 20_000; count++) {
    await turn()
    clock.advance(1)
  }
  if (response === undefined) throw new Error('No answer')
  await pending
  return response
}

async function expectSense(f: Fuzzed, request: Request): Promise<void> {
  const { method } = request
  const response = await answerOf(f, request)
  // What errors there were are of this request: f serves many.
  expect(f.errors.splice(0)).toEqual([])
  // Servers of 0.3 answer so where there is nothing.
  if (response.status !== 501) expect(response.status).toBeLessThan(500)
  if (response.headers.get('content-type') === 'text/event-stream') {
    const reader = response.body?.getReader()
    const first = await reader?.read()
    expect(new TextDecoder().decode(first?.value as Uint8Array)).toMatch(
      /^(id: \d+\n)?(event: \w+\n)?data: \{/,
    )
    await reader?.cancel()
  } else if (![304, 405].includes(response.status) && method !== 'HEAD') {
    expectBody(JSON.parse(await response.text()))
  }
  expectConsistent(f.tasks)
}

/** A result, or an error that says what it is. */
function expectBody(body: unknown): void {
  if (typeof body !== 'object' || body === null) throw new Error(`No object: ${JSON.stringify(body)}`)
  const { error } = body as { error?: { code: unknown; message: unknown } }
  const failed = error ?? ('code' in body ? (body as { code: unknown; message?: unknown }) : undefined)
  if (failed === undefined) return
  expect(Number.isInteger(failed.code)).toBe(true)
  expect(typeof failed.message).toBe('string')
  expect(String(failed.message)).not.toMatch(/TypeError|undefined is not|node_modules|\.ts:/)
}

function expectConsistent(tasks: TaskManager): void {
  const { length } = tasks.listTasks()
  expect(tasks.countTasks()).toBe(length)
  const { tasks: page } = tasks.pageTasks({ pageSize: 1000 })
  expect(page).toHaveLength(Math.min(1000, length))
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
}

const METHODS = [
  ...['SendMessage', 'SendStreamingMessage', 'GetTask', 'ListTasks', 'CancelTask', 'SubscribeToTask'],
  ...['CreateTaskPushNotificationConfig', 'GetExtendedAgentCard', 'message/send', 'message/stream'],
  ...['tasks/get', 'tasks/cancel', 'tasks/resubscribe', 'tasks/pushNotificationConfig/set'],
]
const TASK_ID = fc.constantFrom('task-1', 'task-2', 'task-3', 'task-4', 'none')

/** What is hard to take: for types, for memory, for prototypes, for UTF-8. */
const nasty = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -0,
    -1,
    1e308,
    2 ** 53,
    1.5,
    '',
    [],
    {},
    '\u0000',
    '\ud800',
    'x\udfff',
  ),
  fc.constantFrom<unknown>('__proto__', 'constructor', 'task-1', 'ROLE_USER', ['text'], [[]], [{}], [null]),
  fc.constant(
    JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}') as unknown,
  ),
  fc.jsonValue({ maxDepth: 3 }),
)

const validMessage = fc.record(
  {
    messageId: fc.constantFrom('m', 'n'),
    role: fc.constantFrom('ROLE_USER', 'user'),
    parts: fc.array(
      fc.oneof(
        fc.record({ text: fc.string() }),
        fc.record({ kind: fc.constant('text'), text: fc.string() }),
        fc.record({ data: fc.jsonValue({ maxDepth: 2 }) }),
        fc.record({ raw: fc.base64String() }),
      ),
      { minLength: 1, maxLength: 3 },
    ),
    taskId: TASK_ID,
    contextId: fc.constantFrom('task-1', 'c'),
    metadata: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 })),
    extensions: fc.array(fc.string(), { maxLength: 2 }),
    referenceTaskIds: fc.array(TASK_ID, { maxLength: 2 }),
  },
  { requiredKeys: ['messageId', 'role', 'parts'] },
)
const validParams = fc.record(
  {
    id: TASK_ID,
    taskId: TASK_ID,
    message: validMessage,
    configuration: fc.record(
      { returnImmediately: fc.constant(true), blocking: fc.boolean(), historyLength: fc.nat(3) },
      { requiredKeys: ['returnImmediately'] },
    ),
    tenant: fc.string(),
    pageSize: fc.integer({ min: 1, max: 100 }),
    historyLength: fc.nat(5),
    url: fc.constant('https://client.test'),
  },
  { requiredKeys: ['id', 'message', 'configuration'] },
)
const validBody = fc.record({
  jsonrpc: fc.constant('2.0'),
  id: fc.oneof(fc.integer(), fc.string(), fc.constant(null)),
  method: fc.constantFrom(...METHODS),
  params: validParams,
})

type Path = readonly (string | number)[]

function* pathsIn(value: unknown, path: Path = []): Generator<Path> {
  if (typeof value !== 'object' || value === null) return
  for (const [key, child] of Object.entries(value)) {
    yield [...path, key]
    yield* pathsIn(child, [...path, key])
  }
}

/** A copy of `value` with something else at one place: another value, or none. */
function mutate(value: unknown, at: number, into: { readonly set?: unknown }): unknown {
  const copy = JSON.parse(JSON.stringify(value)) as unknown
  const paths = [...pathsIn(copy)]
  const path = paths[at % Math.max(1, paths.length)] ?? []
  let owner = copy as Record<string | number, unknown>
  for (const key of path.slice(0, -1)) owner = owner[key] as Record<string | number, unknown>
  const last = path.at(-1) ?? 'nothing'
  if ('set' in into) owner[last] = into.set
  else Reflect.deleteProperty(owner, last)
  return copy
}

const mutation = fc.tuple(fc.nat(200), fc.oneof(fc.constant({}), fc.record({ set: nasty })))
const mutated = <T>(valid: fc.Arbitrary<T>) =>
  fc
    .tuple(valid, fc.array(mutation, { maxLength: 3 }))
    .map(([value, changes]) =>
      changes.reduce<unknown>((changed, [at, into]) => mutate(changed, at, into), value),
    )

const post = (path: string, body: unknown, headers: Record<string, string> = {}): Request =>
  new Request(ORIGIN + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
  })

test('requests that are valid but for a thing or three', async () => {
  const f = fuzzed()
  await fc.assert(
    fc.asyncProperty(mutated(validBody), (body) => expectSense(f, post('/a2a', body))),
    BOUNDS,
  )
})

test('JSON that is no request', async () => {
  const f = fuzzed()
  await fc.assert(
    fc.asyncProperty(fc.oneof(nasty, fc.array(nasty)), (body) => expectSense(f, post('/a2a', body))),
    { ...BOUNDS, numRuns: samples(200) },
  )
})

test('bytes that may be anything', async () => {
  const f = fuzzed()
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc
      .tuple(fc.string(), fc.uint8Array({ maxLength: 4 }))
      .map(([text, end]) => Buffer.concat([Buffer.from(text), end])),
    // A request that is cut off somewhere.
    fc.tuple(validBody, fc.nat(300)).map(([body, end]) => Buffer.from(JSON.stringify(body)).subarray(0, end)),
  )
  await fc.assert(
    fc.asyncProperty(bytes, fc.constantFrom('/a2a', '/message:send'), (body, path) =>
      expectSense(f, post(path, new Uint8Array(body))),
    ),
    { ...BOUNDS, numRuns: samples(200) },
  )
})

const segment = fc.oneof(
  fc.constantFrom(
    'a2a',
    'tasks',
    'tasks/task-1',
    'task-3:cancel',
    'task-2:subscribe',
    'message:send',
    'v1',
    '..',
  ),
  fc.constantFrom(
    'message:stream',
    'pushNotificationConfigs',
    'extendedAgentCard',
    'acme',
    '%00',
    '%E0%A4%A',
    ':',
  ),
  fc.constantFrom('.well-known/agent-card.json', '__proto__', 'v1/message:send', 'v1/tasks', 'v1/card', ''),
  fc.string({ maxLength: 8 }).map(encodeURIComponent),
)

const query = fc
  .array(
    fc.tuple(
      fc.constantFrom(
        'pageSize',
        'historyLength',
        'status',
        'pageToken',
        'A2A-Version',
        '__proto__',
        'tenant',
      ),
      fc.oneof(fc.constantFrom('1', '-1', '1.0', 'true', '', '99999999999999999', '__proto__'), fc.string()),
    ),
    { maxLength: 3 },
  )
  .map((pairs) => new URLSearchParams(pairs).toString())

const header = fc.oneof(
  fc.constantFrom(
    '1.0',
    '0.3',
    '99.0',
    '',
    ',',
    '*/*',
    'application/json',
    'text/html',
    '"x"',
    '0',
    '3',
    '-5',
  ),
  fc.string({ unit: fc.constantFrom(...'aZ09,;:/*="<> \u00e9'.split('')), maxLength: 20 }),
)
const headers = fc.dictionary(
  fc.constantFrom(
    ...['A2A-Version', 'A2A-Extensions', 'X-A2A-Extensions', 'Last-Event-ID', 'Accept', 'Content-Type'],
    ...['If-None-Match', 'If-Modified-Since', 'Authorization', 'Origin'],
  ),
  header,
)

interface RequestParts {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

test('paths, methods, queries and headers that may be anything', async () => {
  const f = fuzzed()
  const request = fc.record({
    method: fc.constantFrom('GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS', 'POKE'),
    path: fc.array(segment, { maxLength: 4 }).map((segments) => `/${segments.join('/')}`),
    query,
    headers,
    body: mutated(validParams),
  })
  const toRequest = ({ method, path, query, headers, body }: RequestParts): Request =>
    new Request(`${ORIGIN}${path}?${query}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(!['GET', 'HEAD'].includes(method) && { body: JSON.stringify(body) }),
    })
  await fc.assert(
    fc.asyncProperty(request, (each) => expectSense(f, toRequest(each))),
    { ...BOUNDS, numRuns: samples(800) },
  )
})

test('values that dispatch receives without JSON', async () => {
  const { handler, tasks, clock } = fuzzed()
  const body = fc.oneof(
    mutated(validBody),
    nasty,
    fc.anything({ withBigInt: true, withDate: true, withMap: true }),
  )
  await fc.assert(
    fc.asyncProperty(body, async (given) => {
      const pending = handler.dispatch(given)
      await turn()
      clock.advance(1)
      const answer = await pending
      if (Symbol.asyncIterator in answer) await (answer as AsyncIterableIterator<unknown>).return?.()
      else expectBody(answer)
      expectConsistent(tasks)
    }),
    BOUNDS,
  )
})
