/**
 * One database with 100,000 tasks, then with a million: what a task that is created, a page and a sweep cost at each.
 *
 * What a short task takes, and its removal, is measured in a database of its own.
 *
 * The tasks have ended and have the log of a short task. PostgreSQL makes them from one, by SQL, since a manager would take an
 * hour. Each is two seconds younger than the one before, so none is old enough to be removed. 50 tasks have a context, 100 an
 * owner.
 */
import { Pool } from 'pg'
import type { DurableTaskManager } from 'a2a-tasks/durable'
import { benchPostgres, eachOf, loadDurable } from './durable-stores.js'
import { timeOfSweep } from './functions-idle.js'
import { measure, median, type Variant } from './harness.js'
import { inParallel, openAgent } from './functions-agent.js'
import { formatBytes, formatNs, type Row } from './report.js'
import { REPLY } from './requests.js'
import { expectEqual, INPUT, OUTPUT, type Case } from './workload.js'

const [FEW, MANY] = [100_000, 1_000_000] as const
const PAGE = 50
const ROUNDS = 9
const CONTEXT = 'the-context'
const OWNER = 'the-owner'

/** The task that the others are copies of. */
async function template(tasks: DurableTaskManager): Promise<string> {
  const { id } = await tasks.createTask({ skill: 'write', input: INPUT, contextId: CONTEXT, owner: OWNER })
  await tasks.patchTask(id, { state: 'working' })
  await tasks.patchTask(id, { state: 'completed', output: OUTPUT })
  return id
}

/** Copies number `first` to `last`. `copied` names what tells a copy from the template, in all texts. */
function copies(id: string, first: number, last: number): readonly string[] {
  const texts = [
    [`'${id}'`, 'n.id'],
    [`'${CONTEXT}'`, 'n.context'],
    [`'${OWNER}'`, 'n.owner'],
    ['t.created_at', 'n.at'],
    ['t.updated_at', 'n.at'],
  ]
  const copied = (column: string): string =>
    texts.reduce((text, [of, by]) => `replace(${text}, ${of}, ${by})`, column)
  const numbers = `(SELECT 'copy-' || i AS id, 'context-' || i / 50 AS context, 'owner-' || i / 100 AS owner,
    to_char(now() AT TIME ZONE 'UTC' - interval '25 days' + i * interval '2 seconds', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at
    FROM generate_series(${first}, ${last}) i) n`
  const from = `FROM tasks t JOIN ${numbers} ON t.id = '${id}'`
  const made = `JOIN tasks c ON c.id = n.id`
  return [
    `INSERT INTO tasks (id, created_at, generation, state, ended, updated_at, updated_second, skill, context_id, owner)
      SELECT n.id, n.at, generation, state, ended, n.at, left(n.at, 19), skill, ${copied('context_id')}, ${copied('t.owner')} ${from}`,
    `INSERT INTO contents (task, generation, checkpoint, creation_id)
      SELECT c.task, o.generation, ${copied('o.checkpoint')}, n.id ${from} ${made} JOIN contents o ON o.task = t.task`,
    `INSERT INTO events (task, generation, commit_id, json)
      SELECT c.task, e.generation, e.commit_id, ${copied('e.json')} ${from} ${made} JOIN events e ON e.task = t.task`,
  ]
}

async function fill(url: string, id: string, first: number, last: number): Promise<void> {
  const pool = new Pool({ connectionString: url, max: 1, options: '-c search_path=a2a_tasks' })
  for (const statement of copies(id, first, last)) await pool.query(statement)
  await pool.query('VACUUM ANALYZE')
  await pool.end()
}

function creating(tasks: DurableTaskManager): Variant {
  return {
    ops: 100,
    run: async () => {
      for (let index = 0; index < 100; index++) await tasks.createTask({ skill: 'write', input: INPUT })
    },
  }
}

/** The first page, again and again, or the pages after it. */
function paging(tasks: DurableTaskManager, isWalking: boolean): Variant {
  let cursor: string | undefined
  return {
    ops: 20,
    run: async () => {
      for (let index = 0; index < 20; index++) {
        const page = await tasks.pageTasks({ pageSize: PAGE, cursor })
        expectEqual(page.tasks.length, PAGE, 'tasks on a page')
        if (isWalking) cursor = page.nextCursor
      }
    },
  }
}

const WORK = ['create', 'the first page of 50', 'the next page of 50', 'a sweep'] as const

const growth: Case = {
  name: 'durable: a database of 1,000,000 tasks',
  run: (build) =>
    eachOf([benchPostgres], build, async (bench): Promise<readonly Row[]> => {
      const { DurableTaskManager } = await loadDurable(build)
      const store = await bench.open()
      const tasks = new DurableTaskManager({ store, retention: false })
      const id = await template(tasks)
      const measured = async (): Promise<readonly number[]> => {
        const variants = [creating(tasks), paging(tasks, false), paging(tasks, true)]
        const times = await measure(variants, { rounds: ROUNDS, warmUpOps: 200 })
        return [...times.map(median), await timeOfSweep(build, store)]
      }
      await fill(bench.url, id, 1, FEW)
      const few = await measured()
      await fill(bench.url, id, FEW + 1, MANY)
      const many = await measured()
      await tasks.destroy()
      return WORK.map((work, index): Row => {
        const [before, after] = [few[index] ?? NaN, many[index] ?? NaN]
        return {
          ...{ work: `PostgreSQL: ${work}, growth 100,000 → 1,000,000 tasks`, peer: '–', theirs: '–' },
          ...{ ours: `${formatNs(before)} → ${formatNs(after)}`, value: Math.log10(after / before) },
          ...{ unit: 'exponent', good: 'at most', goal: 0.1 },
        }
      })
    }),
}

const SHORT_TASKS = 10_000

/** A message and its answer, through a handler. */
const footprint: Case = {
  name: 'durable: what a short task takes of a database',
  run: (build) =>
    eachOf([benchPostgres], build, async (bench): Promise<readonly Row[]> => {
      const agent = await openAgent({
        ...{ url: build.url, store: await bench.open(), execute: () => Promise.resolve(REPLY) },
        manager: { retention: { default: { maxAgeMs: 0 } }, sweepIntervalMs: false },
      })
      const pool = new Pool({ connectionString: bench.url, max: 1, options: '-c search_path=a2a_tasks' })
      const numbers = async (): Promise<readonly [disk: number, wal: number, events: number]> => {
        const { rows } = await pool.query<Record<'disk' | 'wal' | 'events', string>>(`SELECT
          (SELECT sum(pg_total_relation_size(oid)) FROM pg_class
            WHERE relnamespace = 'a2a_tasks'::regnamespace AND relkind = 'r') AS disk,
          pg_current_wal_lsn() - '0/0' AS wal, (SELECT count(*) FROM events) AS events`)
        const [row] = rows
        return [Number(row?.disk), Number(row?.wal), Number(row?.events)]
      }
      const before = await numbers()
      await inParallel(SHORT_TASKS, 16, agent.send)
      const after = await numbers()
      const [disk = NaN, wal = NaN, events = NaN] = after.map(
        (value, index) => (value - (before[index] ?? NaN)) / SHORT_TASKS,
      )
      const began = performance.now()
      expectEqual(await agent.tasks.prune(), SHORT_TASKS, 'tasks removed')
      const removal = ((performance.now() - began) * 1e6) / SHORT_TASKS
      await agent.close()
      await pool.end()
      const row = { peer: 'its events', theirs: events.toFixed(1), good: 'at most' as const }
      return [
        { ...row, work: 'PostgreSQL: disk of a short task', ours: formatBytes(disk), value: disk, unit: 'B' },
        { ...row, work: 'PostgreSQL: WAL of a short task', ours: formatBytes(wal), value: wal, unit: 'B' },
        {
          ...row,
          work: 'PostgreSQL: removal of a short task',
          ours: formatNs(removal),
          value: removal,
          unit: 'ns',
        },
      ]
    }),
}

export const durableSizeCases: readonly Case[] = [growth, footprint]
