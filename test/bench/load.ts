/**
 * Four processes that serve an agent over one PostgreSQL, with many open streams and so many messages a second:
 * `npm run bench:load -- --seconds 600 --streams 20000 --rate 1000`, and `--svg FILE` for a plot. Shows the latency of messages and
 * of events every five seconds, and in the end what was lost. All share the cores of this machine, the clients too: where they are
 * busy, the latency is that of waiting for a core.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Pool } from 'pg'
import { build, endTidily } from './build.js'
import { benchPostgres } from './durable-stores.js'
import { reportOf, type Report } from './load-child.js'
import { ENDLESS, requireCompleted, sendBody, type RpcAnswer, type WireTask } from './requests.js'

const CHILD = fileURLToPath(new URL('load-child.ts', import.meta.url))
const SERVERS = 4
/** Each has half of the streams: a process may open so many files. */
const LISTENERS = 2
const STEP_MS = 10
const REPORT_MS = 5_000

interface Interval {
  readonly second: number
  readonly messages: Report
  readonly events: Report
}

async function start(...args: readonly string[]): Promise<{ child: ChildProcess; said: unknown }> {
  const child = fork(CHILD, [...args], { execArgv: ['--no-warnings', '--import', 'tsx'] })
  return { child, said: await answerOf(child) }
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const [answer] = (await once(child, 'message')) as unknown[]
  return answer
}

async function ask(child: ChildProcess, question: string): Promise<unknown> {
  child.send(question)
  return await answerOf(child)
}

async function post(port: number, body: object): Promise<WireTask> {
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  // It is an answer of JSON-RPC.
  const { result, error } = (await response.json()) as RpcAnswer
  if (result?.task === undefined) throw new Error(JSON.stringify(error))
  return result.task
}

/** Sends messages at this rate, whether the ones before are answered or not, until `signal` aborts. */
async function send(
  ports: readonly number[],
  rate: number,
  signal: AbortSignal,
  onEnd: (ms: number) => void,
): Promise<string[]> {
  const ids: string[] = []
  const under: Promise<void>[] = []
  const began = performance.now()
  let sent = 0
  while (!signal.aborted) {
    for (; sent < ((performance.now() - began) / 1_000) * rate; sent += 1) {
      const due = performance.now()
      const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'go' }] }
      const answered = post(ports[sent % ports.length] ?? 0, { ...sendBody(0), params: { message } })
      under.push(
        answered.then((task) => {
          ids.push(requireCompleted(task).id)
          onEnd(performance.now() - due)
        }),
      )
    }
    await delay(STEP_MS)
  }
  await Promise.all(under)
  return ids
}

/** The lines of both 99th percentiles, over time. */
function plot(intervals: readonly Interval[]): string {
  const [width, height, left] = [720, 240, 48]
  const most = Math.max(...intervals.flatMap(({ messages, events }) => [messages.p99, events.p99]))
  const last = intervals.at(-1)?.second ?? 1
  const line = (of: (interval: Interval) => number, color: string): string => {
    const points = intervals.map((each) => {
      const [x, y] = [
        left + (each.second / last) * (width - left),
        height - (of(each) / most) * (height - 24),
      ]
      return `${x.toFixed(1)},${y.toFixed(1)}`
    })
    return `<polyline fill="none" stroke="${color}" stroke-width="2" points="${points.join(' ')}"/>`
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height + 24}" font-family="sans-serif" font-size="12">`,
    `<text x="0" y="16">${most.toFixed(0)} ms</text><text x="${width - 60}" y="${height + 18}">${last} s</text>`,
    `<text x="${left}" y="16" fill="#06c">messages, p99</text><text x="${left + 120}" y="16" fill="#c60">events, p99</text>`,
    line(({ messages }) => messages.p99, '#06c'),
    line(({ events }) => events.p99, '#c60'),
    '</svg>\n',
  ].join('\n')
}

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '600' },
    streams: { type: 'string', default: '20000' },
    rate: { type: 'string', default: '1000' },
    svg: { type: 'string' },
  },
})
endTidily()
const built = await build()
const bench = await benchPostgres(built)
await bench.open()
const children: ChildProcess[] = []
try {
  const servers = await Promise.all(
    Array.from({ length: SERVERS }, () => start('server', built.url, bench.url)),
  )
  children.push(...servers.map(({ child }) => child))
  const ports = servers.map(({ said }) => Number(said))
  const addresses: string[] = []
  for (const port of ports) {
    const { id } = await post(port, sendBody(0, 'SendMessage', ENDLESS, { returnImmediately: true }))
    // Each task is followed at all servers.
    addresses.push(...ports.flatMap((each) => [String(each), id]))
  }
  const streams = String(Math.ceil(Number(values.streams) / LISTENERS))
  const listeners = await Promise.all(
    Array.from({ length: LISTENERS }, () => start('streams', streams, ...addresses)),
  )
  children.push(...listeners.map(({ child }) => child))
  console.log(`${values.streams} streams are open`)
  for (const { child } of listeners) child.send('begin')

  const over = new AbortController()
  let latencies: number[] = []
  const sending = send(ports, Number(values.rate), over.signal, (ms) => latencies.push(ms))
  const intervals: Interval[] = []
  for (let second = REPORT_MS / 1_000; second <= Number(values.seconds); second += REPORT_MS / 1_000) {
    await delay(REPORT_MS)
    // A listener answers so.
    const reports = (await Promise.all(listeners.map(({ child }) => ask(child, 'report')))) as Report[]
    const events = {
      count: reports.reduce((sum, { count }) => sum + count, 0),
      p50: Math.max(...reports.map(({ p50 }) => p50)),
      p99: Math.max(...reports.map(({ p99 }) => p99)),
    }
    const interval = { second, messages: reportOf(latencies), events }
    latencies = []
    intervals.push(interval)
    console.log(JSON.stringify(interval))
  }
  for (const { child } of listeners) child.send('end')
  over.abort()
  const ids = await sending
  await delay(REPORT_MS)
  const lost = (await Promise.all(listeners.map(({ child }) => ask(child, 'lost')))).map(Number)
  const pool = new Pool({ connectionString: bench.url, max: 1 })
  const text = `SELECT count(*)::int AS kept FROM a2a_tasks.tasks WHERE state = 'completed' AND id = ANY($1)`
  const { rows } = await pool.query<{ kept: number }>(text, [ids])
  await pool.end()
  console.log(
    JSON.stringify({
      ...{ tasks: ids.length, lostTasks: ids.length - (rows[0]?.kept ?? 0) },
      lostEvents: lost.reduce((sum, count) => sum + count, 0),
    }),
  )
  if (values.svg !== undefined) writeFileSync(values.svg, plot(intervals))
} finally {
  for (const child of children) child.kill('SIGKILL')
  await bench.close()
}
