/** What a run reads of the earlier tasks of its context, over every manager. */
import { A2AError, TaskManager } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler, type Execute, type ConversationPage, type Run } from 'a2a-tasks/server'
import { openTasks } from 'a2a-tasks/stores/sqlite'
import { ManualClock } from 'a2a-tasks/testing'
import Database from 'libsql'
import { describe, expect, onTestFinished, test } from 'vitest'
import { as, authenticate, call, jsonRpc, ORIGIN, taskOf, user } from '../spec/support/agent.js'
import { databaseFile } from '../../stores/sqlite/support/sqlite.js'

type Tasks = TaskManager | DurableTaskManager

function overSqlite(clock: ManualClock): Promise<DurableTaskManager> {
  const file = databaseFile()
  onTestFinished(() => file.remove())
  return openTasks(new Database(file.path), { synchronous: 'normal', clock })
}

const inMemory = (clock: ManualClock): TaskManager => new TaskManager({ clock })
type Open = (clock: ManualClock) => Tasks | Promise<Tasks>

const MANAGERS: readonly (readonly [string, Open])[] = [
  ['a TaskManager', inMemory],
  ['memoryStore', (clock) => new DurableTaskManager({ store: memoryStore(), clock })],
  ['SQLite', overSqlite],
]

interface Conversation {
  /** Sends a message as Ada, who has a tenant of her own if one is named, or as another user. */
  readonly say: (
    text: string,
    options?: { user?: string; contextId?: string; tenant?: string },
  ) => Promise<string>
}

async function conversation(open: Open, execute: Execute, isAnonymous = false): Promise<Conversation> {
  const clock = new ManualClock()
  const tasks = await open(clock)
  const handler = createRequestHandler({
    clock,
    card: { name: 'Friend', url: ORIGIN },
    tasks,
    execute,
    ...(!isAnonymous && { authenticate }),
  })
  onTestFinished(async () => {
    await handler.close({ graceMs: 1 })
    await tasks.destroy()
  })
  return {
    say: async (text, { user: name = 'ada', contextId = 'talk', tenant } = {}) => {
      const params = { message: user(text, { contextId }), ...(tenant !== undefined && { tenant }) }
      const init = isAnonymous ? {} : as(name)
      const { id } = taskOf(await call(jsonRpc, { handler }, 'SendMessage', params, init))
      // Each task is of a later millisecond than the one before.
      clock.advance(1)
      return id
    },
  }
}

const texts = ({ entries }: ConversationPage): string[] => entries.map(({ role, text }) => `${role}: ${text}`)

describe.each(MANAGERS)('over %s', (_name, open) => {
  test('it has the messages and artifacts, oldest first', async () => {
    const pages: ConversationPage[] = []
    const { say } = await conversation(open, async (run) => {
      pages.push(await run.conversation())
      run.artifact({ name: 'Notes', parts: [{ data: { of: run.text } }] })
      return `${run.text}, too`
    })
    const ids = [await say('Hello'), await say('How are you?')]
    await say('Bye')
    expect(pages.map(texts)).toEqual([
      [],
      ['user: Hello', 'agent: ', 'agent: Hello, too'],
      [
        'user: Hello',
        'agent: ',
        'agent: Hello, too',
        'user: How are you?',
        'agent: ',
        'agent: How are you?, too',
      ],
    ])
    expect(pages[2]?.before).toBeUndefined()
    expect(pages[2]?.entries.slice(3)).toEqual([
      {
        type: 'message',
        role: 'user',
        text: 'How are you?',
        parts: [{ text: 'How are you?' }],
        taskId: ids[1],
        state: 'completed',
      },
      {
        type: 'artifact',
        role: 'agent',
        text: '',
        parts: [{ data: { of: 'How are you?' } }],
        taskId: ids[1],
        state: 'completed',
      },
      {
        type: 'artifact',
        role: 'agent',
        text: 'How are you?, too',
        parts: [{ text: 'How are you?, too' }],
        taskId: ids[1],
        state: 'completed',
      },
    ])
  })

  test('pages of every size hold each entry once', async () => {
    let read: (limit: number) => Promise<ConversationPage[]> = () => Promise.resolve([])
    const { say } = await conversation(open, async (run) => {
      read = (limit) => pagesOf(run, limit)
      if (run.text === 'last') await read(1)
      return [run.text, '!'].join('')
    })
    for (let n = 1; n <= 12; n += 1) await say(`${n}`)
    await say('last')
    const whole = Array.from({ length: 12 }, (_, n) => [`user: ${n + 1}`, `agent: ${n + 1}!`]).flat()
    for (const limit of [1, 5, 7, 24, 100]) {
      const pages = await read(limit)
      expect(pages.map(texts).toReversed().flat()).toEqual(whole)
      expect(pages.slice(0, -1).every(({ entries }) => entries.length === limit)).toBe(true)
    }
  })

  test('it has nothing of other owners, tenants and contexts', async () => {
    const seen: string[][] = []
    const { say } = await conversation(open, async (run) => {
      seen.push(texts(await run.conversation()))
    })
    await say('a secret', { user: 'bob' })
    await say('of a tenant', { tenant: 'acme' })
    await say('elsewhere', { contextId: 'other' })
    await say('mine')
    await say('again')
    await say('again', { tenant: 'acme' })
    expect(seen).toEqual([[], [], [], [], ['user: mine'], ['user: of a tenant']])
  })

  test('of tasks that have not ended it has the messages, but no artifacts', async () => {
    const seen: string[][] = []
    const { say } = await conversation(open, async (run) => {
      if (run.text !== 'What about it?') {
        run.artifact('half')
        void run.requireInput('Which?')
        return
      }
      seen.push(texts(await run.conversation()))
      return
    })
    await say('Draw')
    await say('What about it?')
    expect(seen).toEqual([['user: Draw', 'agent: Which?']])
  })
})

async function pagesOf(run: Run, limit: number): Promise<ConversationPage[]> {
  const pages: ConversationPage[] = []
  let before: string | undefined
  do {
    const page = await run.conversation({ limit, before })
    pages.push(page)
    before = page.before
  } while (before !== undefined)
  return pages
}

test('a task does not see those that were created after it', async () => {
  let first: Run | undefined
  const { say } = await conversation(inMemory, (run) => {
    if (run.text === 'first') {
      first = run
      void run.requireInput('?')
    }
  })
  await say('first')
  await say('second')
  expect(await first?.conversation()).toEqual({ entries: [] })
})

test('clients without a principal share the contexts that they know', async () => {
  const seen: string[][] = []
  const execute: Execute = async (run) => {
    seen.push(texts(await run.conversation()))
  }
  const { say } = await conversation(inMemory, execute, true)
  await say('one')
  await say('two')
  await say('three', { contextId: 'other' })
  expect(seen).toEqual([[], ['user: one'], []])
})

test('a page is limited in size, and a larger entry is its own page', async () => {
  let last: Run | undefined
  const { say } = await conversation(inMemory, (run) => {
    last = run
    return 'x'.repeat(run.text === 'large' ? 1_100_000 : 400_000)
  })
  for (const text of ['one', 'two', 'large', 'three']) await say(text)
  await say('last')
  const pages = last === undefined ? [] : await pagesOf(last, 100)
  expect(pages.map(({ entries }) => entries.map(({ text }) => text.slice(0, 5)))).toEqual([
    ['large', 'xxxxx', 'three', 'xxxxx'].slice(2),
    ['xxxxx'],
    ['one', 'xxxxx', 'two', 'xxxxx', 'large'],
  ])
})

test.each<[object, string]>([
  [{ limit: 0 }, '"limit" must be an integer from 1 to 1000, got 0'],
  [{ limit: '3' }, '"limit" must be an integer from 1 to 1000, got "3"'],
  [{ max: 3 }, 'Unknown option "max" of run.conversation; known are limit, before'],
  [{ before: 'page 2' }, 'before must be the "before" of a page that run.conversation() returned'],
  [{ before: 'e30' }, 'before must be the "before" of a page that run.conversation() returned'],
])('refuses %j', async (options, message) => {
  let error: unknown
  const { say } = await conversation(inMemory, async (run) => {
    error = await run.conversation(options).catch((caught: unknown) => caught)
  })
  await say('Go')
  expect(error).toBeInstanceOf(Error)
  expect(String(error)).toContain(message)
  expect(A2AError.is(error, 'INVALID_PARAMS')).toBe('before' in options)
})
