/** Durable functions that have to survive a crash at every write. */
import type { Execute, Run } from 'a2a-tasks/server'
import type { TestDurableOptions } from 'a2a-tasks/testing'
import { A2AError, type Task } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import { memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler, textOf, type RequestHandler } from 'a2a-tasks/server'
import type Database from 'libsql'
import * as z from 'zod'

export type CreateStore = NonNullable<TestDurableOptions['createStore']>

export interface Case {
  readonly name: string
  readonly execute: Execute
  readonly options: TestDurableOptions
  /** Has hundreds of crash points, which `npm run test:all` tries. */
  readonly isLong?: true
}

const conversation = async (run: Run): Promise<string> => {
  const names: string[] = []
  for (const question of ['First?', 'Second?', 'Third?']) {
    run.artifact({ artifactId: 'log', parts: [{ text: `${question} ` }] })
    names.push(textOf(await run.requireInput(question)))
  }
  return `${run.text}: ${names.join()}`
}

const travel = async (run: Run): Promise<string> => {
  run.setMetadata({ draft: true })
  const city = textOf(await run.requireInput('Which city?'))
  run.artifact({ artifactId: 'log', parts: [{ text: `To ${city}. ` }] })
  run.setMetadata({ city, draft: null })
  const price = await run.step('price', ({ key }) => {
    run.artifact({ artifactId: 'log', parts: [{ text: 'Asked. ' }] })
    run.setMetadata({ asked: key.slice(key.indexOf('/')) })
    run.spend({ searches: 1 })
    return { amount: 100, key: key.slice(key.indexOf('/')) }
  })
  run.artifact({ artifactId: 'log', parts: [{ text: `For ${price.amount} by ${price.key}. ` }] })
  run.spend({ cost: price.amount })
  const isSure = textOf(await run.requireInput('Sure?'))
  const id = run.artifact(`Ticket ${run.uuid()}`)
  await run.step('book', () => run.update('Booking'))
  run.artifact({ artifactId: id, parts: [{ text: ', booked' }] })
  return isSure
}

/** Its result shows whether a value is what it was. */
const values = async (run: Run): Promise<string> => {
  const order = await run.step('order', () => ({
    at: new Date(1e12),
    total: 2n ** 64n,
    note: undefined,
    lines: new Map([['a', new Set([new URL('https://example.com/a')])]]),
    bytes: new Uint8Array([1, 255]),
    $Date: 'a name',
  }))
  const [[line, urls] = []] = [...order.lines]
  const { value } = await run.waitFor<{ readonly value: Map<string, Date> }>('approval')
  const fault = await run.step('fault', () => new RangeError('Full', { cause: order.at }))
  const parts = [order.at.getTime(), order.total, 'note' in order, line, [...(urls ?? [])][0]?.href]
  return [
    ...parts,
    order.bytes.length,
    order.$Date,
    value.get('at')?.getTime(),
    `${fault.name} ${fault.cause instanceof Date}`,
  ].join()
}

const typed = async (run: Run): Promise<string> => {
  const trip = z.object({ city: z.string(), nights: z.int() })
  const { city, nights } = await run.requireInput('Where?', { schema: trip })
  run.artifact({ artifactId: 'log', parts: [{ text: `${nights} nights in ${city}. ` }] })
  const { hotel, car } = await run.ask({
    hotel: { message: 'Which hotel?', schema: z.string().min(3) },
    car: { message: 'A car?', schema: z.boolean() },
  })
  const price = await run.step('price', () => nights * (car ? 100 : 50))
  const verdict = await run.approve('book', { message: `${hotel} for ${price}?`, expiresInMs: 3_600_000 })
  return `${verdict} ${await run.step('book', () => hotel)}`
}

const expiring = async (run: Run): Promise<string> => {
  const verdict = await run.approve('book', { message: 'Book?', expiresInMs: 60_000 })
  const beside = await Promise.all([
    run.requireInput('Name?', { schema: z.string(), expiresInMs: 30_000 }).catch(String),
    run.step('beside', () => 'done'),
    run.sleep('pause', { ms: 45_000 }),
  ])
  return `${verdict} ${beside[0]} ${beside[1]} ${await run.step('after', () => 'all')}`
}

const parallel = async (run: Run): Promise<string> => {
  const branch = async (name: string): Promise<number> => {
    const one = await run.step(`${name}-a`, () => {
      run.artifact({ artifactId: name, parts: [{ text: 'a' }] })
      return 1
    })
    return one + (await run.step(`${name}-b`, async () => Promise.resolve(2)))
  }
  const sums = await Promise.all(['x', 'y', 'z'].map(branch))
  const last = await Promise.all([run.step('same', () => 'first'), run.step('same', () => 'second')])
  return `${sums.join()} ${last.join()}`
}

const generator = async function* (run: Run): AsyncGenerator<string> {
  yield 'one '
  yield await run.step('two', () => 'two ')
  yield textOf(await run.requireInput('Three?'))
  const at = run.now()
  await run.step('nothing', () => undefined)
  yield run.now() >= at ? ' four' : ' back in time'
}

const failing = async (run: Run): Promise<string> => {
  const caught: string[] = []
  for (const name of ['one', 'two']) {
    try {
      await run.step(
        name,
        () => {
          throw new RangeError(`No ${name}`)
        },
        { retry: { attempts: 2 } },
      )
    } catch (error) {
      caught.push(String(error))
    }
  }
  const credentials = textOf(await run.requireAuth('Log in'))
  run.artifact(caught.join())
  if (run.changed('later')) run.update('later')
  throw new Error(credentials)
}

const waits = async (run: Run): Promise<string> => {
  await run.sleep('a moment', { ms: 500 })
  run.artifact({ artifactId: 'log', parts: [{ text: 'Woke. ' }] })
  await run.sleep('the night', { ms: 8 * 3_600_000 })
  const first = await run.waitFor('approval')
  run.artifact({ artifactId: 'log', parts: [{ text: `Read ${JSON.stringify(first)}. ` }] })
  const isSure = textOf(await run.requireInput('Sure?'))
  const late = run.sleep('late', { ms: 60_000 }).then(() => 'late')
  const second = run.waitFor<string>('payment')
  return `${isSure} ${await Promise.race([second, late])}`
}

const authorizing = async (run: Run): Promise<string> => {
  const login = (name: string): Promise<string> =>
    run
      .authorize<string>(name, { url: 'https://login.example', message: `Let me use ${name}` })
      .catch((error: unknown) => (A2AError.is(error) ? error.code : String(error)))
  const first = await run.step('first', () => 'begun')
  const declined = await login('mail')
  run.artifact(`${first}, ${declined}`)
  // The script sends the signal as soon as the answer is stored: it is beside the step, before the wait or during it.
  const [account, other] = await Promise.all([login('calendar'), run.step('beside', () => 'beside')])
  return `${account}, ${other}`
}

const beside = async (run: Run): Promise<string> => {
  const remind = async (): Promise<string> => {
    await run.sleep('a while', { ms: 5_000 })
    return await run.step('remind', () => 'reminded')
  }
  const [city, ...others] = await Promise.all([
    run.requireInput('Which city?'),
    run.waitFor<string>('note'),
    remind(),
  ])
  return [textOf(city), ...others].join()
}

function byId(artifacts: Task['artifacts']): unknown {
  return Object.fromEntries(artifacts.map(({ artifactId, parts }) => [artifactId, parts]))
}

/** Agents in this process, which outlive the processes of the functions. */
const startAgents = (): Record<'airline' | 'hotel', RequestHandler> => ({
  airline: startAgent('airline', async (run) => {
    await Promise.resolve()
    return `Booked ${run.text}`
  }),
  hotel: startAgent(
    'hotel',
    async (run) => `${run.text} for ${textOf(await run.requireInput(`How many for ${run.text}?`))}`,
  ),
})

function startAgent(name: string, execute: Execute): RequestHandler {
  return createRequestHandler({
    card: { name, url: `https://${name}.test` },
    // Recognizes messages that are sent again.
    authenticate: () => ({ id: 'traveller' }),
    execute,
  })
}

let agents = startAgents()
export const [airline, hotel] = (['airline', 'hotel'] as const).map(
  (name) =>
    new A2AClient({
      card: agents[name].card,
      // A process that takes over first looks for the task of a message whose response was lost.
      retry: { baseDelayMs: 1, maxDelayMs: 1 },
      fetch: (url, init) => agents[name].fetch(new Request(url, init)),
    }),
) as [A2AClient, A2AClient]

/** Creates the store of a trial, and other agents: all trials send the same message ids, which an agent recognizes. */
export function withNewAgents(createStore: CreateStore = memoryStore): CreateStore {
  return async (options) => {
    const before = Object.values(agents)
    agents = startAgents()
    await Promise.all(before.map((agent) => agent.close()))
    return await createStore(options)
  }
}

/** Steps, sleeps and delegations at the same time, some of them one after the other within a branch. */
const allAtOnce = async (run: Run): Promise<string> => {
  const fly = async (city: string): Promise<string> => {
    const flight = await run.delegate(`fly to ${city}`, airline, city)
    return await run.step(`pay ${city}`, () => {
      run.artifact({ artifactId: city, parts: [{ text: `${flight.ok} ` }] })
      run.artifact({ artifactId: city, parts: [{ text: 'paid' }] })
      return flight.text
    })
  }
  const nap = async (name: string, ms: number): Promise<string> => {
    const tired = await run.step(`tired ${name}`, () => name)
    await run.sleep(name, { ms })
    return await run.step(`awake ${name}`, () => `${tired} awake`)
  }
  const first = await Promise.all([
    ...[fly('Rome'), nap('short', 2_000), nap('long', 3_600_000)],
    ...[run.step('same', () => 'one'), run.step('same', () => 'two')],
  ])
  const approval = run.waitFor<string>('approval')
  const second = await Promise.all([fly('Bonn'), approval, run.sleep('beside', { ms: 90_000 })])
  return [...first, ...second.slice(0, 2)].join()
}

/** Several delegations under way at the same time, beside steps. */
const parallelDelegations = async (run: Run): Promise<string> => {
  const fly = async (city: string): Promise<string> => {
    const { text } = await run.delegate(`fly to ${city}`, airline, city)
    return await run.step(`pay ${city}`, () => {
      run.artifact({ artifactId: city, parts: [{ text: `${text} ` }] })
      run.artifact({ artifactId: city, parts: [{ text: 'paid' }] })
      return text
    })
  }
  const same = await Promise.all([
    run.delegate('same', airline, 'first'),
    run.delegate('same', airline, 'second'),
  ])
  const flights = await Promise.all([
    fly('Rome'),
    run.step('beside', () => 'beside'),
    fly('Bonn'),
    fly('Oslo'),
  ])
  return [...same.map(({ text }) => text), ...flights].join()
}

/** Delegations under way at the same time, whose questions the function answers, beside a question to the user. */
const askingDelegations = async (run: Run): Promise<string> => {
  const stay = async (city: string): Promise<string> => {
    const { ok, text } = await run.delegate(`stay in ${city}`, hotel, city, {
      onInputRequired: ({ text }) => run.step(`answer ${city}`, () => `two (${text})`),
    })
    return await run.step(`pay ${city}`, () => `${ok} ${text}`)
  }
  const flight = run.delegate('fly', airline, 'Rome')
  const found = await Promise.all([
    stay('Rome'),
    run.step('beside', () => 'beside'),
    stay('Bonn'),
    run.requireInput('Sure?').then(textOf),
    flight.then(({ text }) => text),
  ])
  const asked = await run.delegate('asks the user', hotel, 'Oslo')
  return [...found, asked.text].join()
}

/** Four rounds of one turn: each has a step of the same name, an artifact, and the second one a question. */
const rounds: Execute = async (run) => {
  const round = Number(run.text.split(' ')[1] ?? 0)
  const made = await run.step('work', ({ key }) => key.slice(key.indexOf('/')))
  run.artifact({ artifactId: 'log', parts: [{ text: `${made} ` }] })
  run.artifact(`Round ${round} ${run.uuid()}`)
  const said = round === 1 ? textOf(await run.requireInput('Go on?')) : 'on'
  await run.sleep('pause', { ms: 60_000 })
  if (round < 3) await run.continueAs(`round ${round + 1} ${said}`)
  return `${run.text} of ${run.messages.length}`
}

/** A model that streams its answer in each of these steps: artifacts without ids, in parallel and one after the other. */
const models = async (run: Run): Promise<void> => {
  const stream = async (words: readonly string[]): Promise<string> => {
    let artifactId: string | undefined
    for (const text of words) {
      artifactId = run.artifact({ artifactId, parts: [{ text: `${text} ` }] })
      run.artifact({ artifactId: 'shared', parts: [{ text: `${text} ` }] })
      run.spend({ outputTokens: 1, model: 'fast' })
      await new Promise<void>((resolve) => void setImmediate(resolve))
    }
    run.artifact(`${words.length} words`)
    return words.join()
  }
  run.artifact('Begun')
  const beside = run.step('beside', () => stream(['b', 'e']))
  run.artifact({ artifactId: 'log', parts: [{ text: 'Asked. ' }] })
  const flaky = run.step(
    'flaky',
    async ({ attempt }) => {
      const said = await stream(['f', `${attempt}`])
      if (attempt === 1) throw new Error('Not yet')
      return said
    },
    { retry: { attempts: 2, backoff: { initialMs: 10 } } },
  )
  const answers = await Promise.all([
    beside,
    flaky,
    run.step('answer', () => stream(['one', 'two', 'three'])),
  ])
  run.update('Answered')
  run.artifact('Answered')
  const isSure = textOf(await run.requireInput('Sure?'))
  const again = await run.step('answer', () => stream(['more']))
  if (run.attempt === 1) throw new Error('Not now')
  run.artifact({ artifactId: 'log', parts: [{ text: isSure }] })
  run.complete(`${answers.join()} ${again}`)
}

/** As {@link models}, for steps that begin after an entry, all of whose words go to one artifact. */
const shared = async (run: Run): Promise<string> => {
  const stream = async (words: readonly string[]): Promise<string> => {
    for (const text of words) {
      run.artifact({ artifactId: 'shared', parts: [{ text: `${text} ` }] })
      await new Promise<void>((resolve) => void setImmediate(resolve))
    }
    return words.join()
  }
  run.now()
  const flaky = run.step(
    'flaky',
    async ({ attempt }) => {
      const said = await stream(['f', `${attempt}`])
      if (attempt === 1) throw new Error('Not yet')
      return said
    },
    { retry: { attempts: 2, backoff: { initialMs: 10 } } },
  )
  const others = [
    ['b', 'e'],
    ['one', 'two', 'three'],
  ] as const
  const answers = others.map((words) => run.step('answer', () => stream(words)))
  return (await Promise.all([flaky, ...answers])).join()
}

/** By their ids, in whichever order parallel code made them, and the words of parallel chunks as a set. */
function anyOrder({ state, artifacts, messages }: Task): unknown {
  const shared = artifacts.find(({ artifactId }) => artifactId === 'shared')
  const words = textOf(shared ?? {})
    .split(' ')
    .sort()
  return { state, artifacts: { ...(byId(artifacts) as object), shared: words }, messages }
}

const endingQuestion: Execute = (run) => {
  if (run.text === 'begin') return void run.requireInput('More?')
  return run.step('more', () => `${run.text} of ${run.messages.length}`)
}

type Client =
  | Pick<Database.Database, 'exec' | 'prepare'>
  | { query(text: string): Promise<{ readonly rows: readonly unknown[] }> }

/** The rows that a statement selects, in the way of the driver. */
function select(client: Client, text: string): unknown[] | Promise<unknown[]> {
  return 'query' in client ? client.query(text).then(({ rows }) => [...rows]) : client.prepare(text).all()
}

function does(client: Client, text: string): void | Promise<void> {
  if ('query' in client) return client.query(text).then(() => undefined)
  client.exec(text)
}

/** Each transaction adds one row, which has its key. */
const transfers = async (run: Run): Promise<string> => {
  const add = (name: string): Promise<string> =>
    run.transaction(name, (client: Client, { key }) => {
      const doing = does(client, `INSERT INTO effects VALUES ('${key}')`)
      return doing === undefined ? name : doing.then(() => name)
    })
  await run.transaction('create', (client: Client) =>
    does(client, 'CREATE TABLE IF NOT EXISTS effects (k TEXT)'),
  )
  // Trials in one database have the same ids.
  await run.transaction('clear', (client: Client) =>
    does(client, `DELETE FROM effects WHERE k LIKE '${run.taskId}/%'`),
  )
  const first = await add('debit')
  run.artifact({ artifactId: 'log', parts: [{ text: 'Debited. ' }] })
  const failed = await run
    .transaction('fails', (client: Client, { key }) => {
      const fail = (): never => {
        throw new RangeError('No')
      }
      const doing = does(client, `INSERT INTO effects VALUES ('${key}')`)
      return doing === undefined ? fail() : doing.then(fail)
    })
    .catch(String)
  const isSure = textOf(await run.requireInput('Sure?'))
  const others = await Promise.all([add('credit'), run.step('beside', () => 'beside'), add('credit')])
  const found = await run.transaction('read', (client: Client) => {
    const rows = select(client, `SELECT k FROM effects WHERE k LIKE '${run.taskId}/%'`)
    return rows instanceof Promise ? rows.then(({ length }) => length) : rows.length
  })
  return [first, failed, isSure, ...others, found].join()
}

/** Over SQL stores alone. */
export const TRANSACTIONS: Case = {
  name: 'transactions',
  execute: transfers,
  options: { messages: ['go', 'yes'] },
}

export const FUNCTIONS: readonly Case[] = [
  { name: 'a conversation', execute: conversation, options: { messages: ['go', 'a', 'b', 'c'] } },
  { name: 'steps, questions and artifacts', execute: travel, options: { messages: ['fly', 'Rome', 'yes'] } },
  {
    name: 'values that JSON does not have',
    execute: values,
    options: {
      messages: ['go', { signal: 'approval', value: { value: new Map([['at', new Date(0)]]) } }],
    },
  },
  {
    name: 'questions with a schema',
    execute: typed,
    options: {
      messages: [
        'go',
        { answers: { input: { city: 'Rome', nights: 2 } } },
        { answers: { car: true } },
        'no',
        'Ritz',
        { answers: { book: 'approve' } },
      ],
    },
  },
  { name: 'questions that expire', execute: expiring, options: { messages: ['go', 'approve'] } },
  {
    name: 'authorizations, one that is declined and one by a signal',
    execute: authorizing,
    options: {
      messages: ['go', { answers: { mail: 'decline' } }, { signal: 'calendar', value: 'Ada' }],
      // Whether the signal comes before the question is open.
      resultOf: ({ state, artifacts, messages }) => ({
        ...{ state, artifacts: artifacts.map(textOf) },
        said: messages.filter(({ role }) => role === 'user').map(({ messageId }) => messageId),
      }),
    },
  },
  { name: 'parallel steps', execute: parallel, options: { messages: ['go'] } },
  { name: 'a generator', execute: generator, options: { messages: ['go', 'three'] } },
  {
    name: 'sleeps and signals',
    execute: waits,
    options: { messages: ['go', { signal: 'approval', value: { by: 'Ada' } }, 'yes'] },
  },
  {
    name: 'a question beside a sleep and a signal',
    execute: beside,
    options: { messages: ['go', { signal: 'note', value: 'noted' }, 'Rome'] },
  },
  {
    name: 'steps, sleeps, delegations and a signal in parallel',
    execute: allAtOnce,
    isLong: true,
    options: {
      messages: ['go', { signal: 'approval', value: 'approved' }],
      // Which agent ends first is open.
      resultOf: ({ state, artifacts }) => ({ state, artifacts: byId(artifacts) }),
    },
  },
  {
    name: 'delegations in parallel',
    execute: parallelDelegations,
    isLong: true,
    options: {
      messages: ['go'],
      resultOf: ({ state, artifacts }) => ({ state, artifacts: byId(artifacts) }),
    },
  },
  {
    name: 'delegations in parallel that ask, beside a question',
    execute: askingDelegations,
    isLong: true,
    options: { messages: ['go', 'yes', 'three'] },
  },
  {
    name: 'a turn that continues as another one',
    execute: rounds,
    isLong: true,
    options: { messages: ['go', 'yes'] },
  },
  {
    name: 'streams of parallel steps',
    execute: models,
    options: {
      messages: ['go', 'yes'],
      resultOf: anyOrder,
      handler: { retry: { attempts: 3, backoff: { initialMs: 10 } } },
    },
  },
  {
    name: 'streams of parallel steps to one artifact',
    execute: shared,
    options: { messages: ['go'], resultOf: anyOrder },
  },
  { name: 'steps that fail', execute: failing, options: { messages: ['go', 'done'] } },
  {
    name: 'a turn that ends with a question',
    execute: endingQuestion,
    options: { messages: ['begin', 'x'] },
  },
]
