/** Two processes over one store that do a few turns of each key at a time, while one of them is killed. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { DurableTaskManager } from '../../../src/durable/index.js'
import { createProducer } from '../../../src/server/index.js'
import { skipWithoutPostgres, startPostgres } from '../../support/postgres-server.js'
import { skipWithoutRedis, startRedis } from '../../support/redis-server.js'
import { bundle } from './cluster.js'
import { openStore } from './stores.js'

interface Line {
  readonly what: 'begins' | 'ends'
  readonly text: string
  readonly pid: number
  readonly at: number
}

const MAX = 2
const KEYS = ['a', 'b', 'c']
const TASKS = 36

it('over PostgreSQL', { timeout: 60_000 }, async (context) => {
  skipWithoutPostgres(context)
  const server = await startPostgres()
  onTestFinished(() => server.stop())
  await expectFewAtATime('postgres', server.url)
})

it('over Redis', { timeout: 60_000 }, async (context) => {
  skipWithoutRedis(context)
  const server = await startRedis()
  onTestFinished(() => server.stop())
  await expectFewAtATime('redis', server.url)
})

it('over SQLite', { timeout: 60_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'keys-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await expectFewAtATime('sqlite', join(folder, 'tasks.db'))
})

async function expectFewAtATime(name: string, url: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'turns-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'turns.jsonl')
  const { store, close } = await openStore(name, url)
  const tasks = new DurableTaskManager({ store, pollIntervalMs: 200, sweepIntervalMs: false })
  onTestFinished(async () => {
    await tasks.destroy()
    await close()
  })
  const program = await bundle('keys-worker')
  const launch = async (): Promise<ChildProcess> => {
    const env = { ...process.env, STORE: name, STORE_URL: url, TURNS_FILE: file, MAX: String(MAX) }
    const child = fork(program, { env, execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child, 'message')
    return child
  }
  const [first, second] = await Promise.all([launch(), launch()])
  const { send } = createProducer({ card: { name: 'Shop', url: 'http://127.0.0.1' }, tasks })
  const ids: string[] = []
  for (let number = 0; number < TASKS; number += 1)
    ids.push((await send(`${KEYS[number % KEYS.length] ?? ''} ${number}`)).id)
  await delay(300)
  const gone = once(first, 'exit')
  first.kill('SIGKILL')
  await gone
  const killedAt = Date.now()
  const third = await launch()
  for (const id of ids) expect((await tasks.waitFor(id)).state).toBe('completed')
  await Promise.all(
    [second, third].map(async (child) => {
      const ended = once(child, 'exit')
      child.send('stop')
      await ended
    }),
  )
  // The turns of the process that was killed have ended with it.
  const lines = (await readFile(file, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
  expect(lines.some(({ pid }) => pid === first.pid)).toBe(true)
  expect(Math.max(...KEYS.map((key) => mostAtATime(lines, key, first.pid ?? 0, killedAt)))).toBe(MAX)
}

/** How many turns of a key were under way at most. */
function mostAtATime(lines: readonly Line[], key: string, killed: number, killedAt: number): number {
  const open = new Map<string, number>()
  let most = 0
  for (const { what, text, pid, at } of lines.toSorted((a, b) => a.at - b.at)) {
    if (!text.startsWith(`${key} `)) continue
    if (at > killedAt) for (const [each, of] of open) if (of === killed) open.delete(each)
    if (what === 'begins') open.set(text, pid)
    else if (open.get(text) === pid) open.delete(text)
    most = Math.max(most, open.size)
  }
  return most
}
