/** Many runs, some at once, each of those through its own proxy. */
import type { Clock } from 'a2a-tasks'
import type { AgentCard } from 'a2a-tasks/schemas'
import { A2AClient, type RunResult } from '../../../../src/client/index.js'
import { assign, type Assignment, type Tally } from '../kinds.js'
import { FAULTS, Proxy, type Fault } from '../proxy.js'
import { Random } from '../random.js'

/** Whatever is longer is a time limit, and no pause. */
const LIMIT_MS = 10_000

/** Pauses are real; time limits are over when the test says so, however slow the machine is. */
class LimitClock implements Clock {
  readonly #pauses = new Set<NodeJS.Timeout>()
  readonly #limits = new Set<() => void>()

  /** Timers that have not come. */
  get pending(): number {
    return this.#pauses.size + this.#limits.size
  }

  now(): number {
    return Date.now()
  }

  schedule(callback: () => void, delayMs: number): () => void {
    if (delayMs >= LIMIT_MS) {
      const limit = (): void => callback()
      this.#limits.add(limit)
      return () => this.#limits.delete(limit)
    }
    const timer = setTimeout(() => {
      this.#pauses.delete(timer)
      callback()
    }, delayMs)
    this.#pauses.add(timer)
    return () => {
      this.#pauses.delete(timer)
      clearTimeout(timer)
    }
  }

  /** All time limits are over. */
  expire(): void {
    const limits = [...this.#limits]
    this.#limits.clear()
    for (const limit of limits) limit()
  }
}

export interface Soak {
  readonly seed: number
  readonly runs: number
  readonly concurrency: number
  readonly port: number
  readonly card: (url: string) => AgentCard
  readonly tally: Tally
  readonly kinds: readonly string[]
  readonly faults?: readonly Fault[]
}

export interface SoakReport {
  readonly wrong: string[]
  readonly counts: ReadonlyMap<Fault, number>
  readonly pendingTimers: number
  readonly close: () => Promise<void>
}

export async function soak(options: Soak): Promise<SoakReport> {
  const { seed, runs, concurrency, port, tally, kinds } = options
  const clocks: LimitClock[] = []
  const jobs = Array.from({ length: runs }, (_, index) => {
    const random = new Random(seed * 1_000 + index)
    return { index, random, assignment: assign(random, `${seed}-${index}`, kinds) }
  })
  // Reserve all ports before the first run: a port that is refused for a while must not go to another proxy.
  const proxies = await Promise.all(Array.from({ length: concurrency }, () => new Proxy(port).listen()))
  const wrong: string[] = []
  const queue = [...jobs]
  const work = async (proxy: Proxy): Promise<void> => {
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
      const { index, random, assignment } = job
      const clock = new LimitClock()
      clocks.push(clock)
      const budget = random.between(0, 5)
      const { faults } = options
      proxy.begin({ seed: seed * 1_000 + index, budget, faults, onStall: () => clock.expire() })
      const result = await runOnce(options.card(proxy.url), assignment, random, clock)
      const { type, text } = assignment.expected
      if (result.type === type && result.text === text) continue
      wrong.push(
        `seed ${seed}, run ${index} (${assignment.text}): ${result.type} ${JSON.stringify(result.text)}`,
      )
    }
  }
  await Promise.all(proxies.map(work))
  wrong.push(
    ...tally.faultsOf(jobs.flatMap(({ assignment: { messageId, answers } }) => [messageId, ...answers])),
  )
  const countOf = (fault: Fault): number =>
    proxies.reduce((sum, { counts }) => sum + (counts.get(fault) ?? 0), 0)
  return {
    wrong,
    counts: new Map(FAULTS.map((fault) => [fault, countOf(fault)])),
    pendingTimers: clocks.reduce((sum, { pending }) => sum + pending, 0),
    close: async () => {
      await Promise.all(proxies.map((proxy) => proxy.close()))
    },
  }
}

async function runOnce(
  card: AgentCard,
  { text, messageId, answers }: Assignment,
  random: Random,
  clock: Clock,
): Promise<RunResult> {
  const streaming = random.chance(0.8)
  const client = new A2AClient({
    card: { ...card, capabilities: { ...card.capabilities, streaming } },
    retry: { attempts: 6, baseDelayMs: 1, maxDelayMs: 8 },
    clock,
    random: () => random.next(),
  })
  const left = [...answers]
  let sent = { messageId, parts: [{ text }] }
  const options = {
    pollIntervalMs: 5,
    onInputRequired() {
      const answer = left.shift()
      if (answer === undefined) throw new Error('It asks once more than it may')
      return (sent = { messageId: answer, parts: [{ text: answer }] })
    },
  }
  let result = await client.run(sent, options)
  // A gateway that answers ends a run. A user tries again, and nothing is sent twice.
  while (result.type === 'error') result = await client.run(sent, { ...options, repeats: result.handle })
  return result
}
