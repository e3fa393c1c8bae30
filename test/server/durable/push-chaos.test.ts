/** Processes that die, stores and webhooks that fail, in an order that a seed says: what a webhook receives in the end. */
import { expect, test } from 'vitest'
import {
  calm,
  generationsOf,
  healthAt,
  sharedStore,
  type PushReplica,
  type SharedStore,
} from './support/push.js'
import { samples } from '../../support/samples.js'

const SEEDS = Array.from({ length: samples(30) }, (_, seed) => seed)
const STEPS = 60

test.each(SEEDS)('a webhook receives everything in order, whatever dies: %i', async (seed) => {
  const random = randomOf(seed)
  const received: { readonly headers: object }[] = []
  const play = new Play(random, received)
  const first = play.alive()
  const { id } = await first.tasks.createTask({ skill: 'test' })
  await first.create(id, { url: 'http://127.0.0.1:9999/' })
  // The first delivery has the task as it is at that time.
  while (!(await play.isBegun())) await play.pass()
  await play.change((at) => at.tasks.updateTask(id, { state: 'working' }))
  for (let step = 0; step < STEPS; step += 1) {
    const dice = random()
    if (dice < 0.1) play.kill()
    else if (dice < 0.2) play.breakOne()
    else if (dice < 0.6) {
      const chunk = { artifactId: 'a', parts: [{ text: String(step) }] }
      await play.change((at) => at.tasks.appendArtifact(id, chunk, { append: true }))
    } else await play.pass()
  }
  play.heal()
  await play.change((at) => at.tasks.updateTask(id, { state: 'completed' }))
  while ((await healthAt(play.alive(), id)).state !== 'done') await play.pass()
  const generations = generationsOf(received)
  const firstTimes = generations.filter((generation, index) => generations.indexOf(generation) === index)
  const task = await play.alive().tasks.peekTask(id)
  expect(firstTimes).toEqual(Array.from({ length: task?.generation ?? 0 }, (_, index) => index + 1))
})

class Play {
  readonly #random: () => number
  readonly #world: SharedStore = sharedStore()
  readonly #received: { readonly headers: object }[]
  #isHealthy = false
  #alive: PushReplica[]

  constructor(random: () => number, received: { readonly headers: object }[]) {
    this.#random = random
    this.#received = received
    this.#alive = [this.#open(), this.#open(), this.#open()]
  }

  alive(): PushReplica {
    const found = this.#alive[Math.floor(this.#random() * this.#alive.length)]
    if (found === undefined) throw new Error('No process is alive')
    return found
  }

  async isBegun(): Promise<boolean> {
    const [outbox] = await this.#world.documents('push-outbox')
    return (outbox?.value as { cursor: number | null }).cursor !== null
  }

  /** Changes by a replica that reaches the store. */
  async change(make: (at: PushReplica) => Promise<unknown>): Promise<void> {
    const at = this.alive()
    at.store.mend()
    const settled = new Set<unknown>()
    const made = make(at).finally(() => settled.add(at))
    await calm(3)
    // It may be waiting to ask the store again.
    while (settled.size === 0) await this.pass()
    await made
  }

  /** One dies, without a word, and another one comes to be. */
  kill(): void {
    const dead = this.alive()
    dead.store.fail()
    this.#alive = [...this.#alive.filter((one) => one !== dead), this.#open()]
  }

  /** Cuts one replica off from the store for a while. */
  breakOne(): void {
    this.alive().store.fail(...(this.#random() < 0.5 ? ['putDocument'] : []))
  }

  heal(): void {
    this.#isHealthy = true
    for (const one of this.#alive) one.store.mend()
  }

  async pass(): Promise<void> {
    const ms = Math.floor(this.#random() * 8_000)
    for (const one of this.#alive) {
      if (this.#random() < 0.3) one.store.mend()
      one.clock.advance(ms)
    }
    await calm(5)
  }

  #open(): PushReplica {
    const fetch = async (_: string, init: RequestInit): Promise<Response> => {
      await calm(Math.floor(this.#random() * 3))
      const dice = this.#isHealthy ? 1 : this.#random()
      if (dice < 0.15) return new Response(null, { status: 503 })
      this.#received.push({ headers: Object.fromEntries(new Headers(init.headers)) })
      // Received, but the response is lost.
      if (dice < 0.25) throw new TypeError('The connection is gone')
      return new Response(null, { status: 204 })
    }
    return this.#world.open({ push: { fetch, maxAttempts: 1_000 }, manager: { storeRetryMs: 5_000 } })
  }
}

function randomOf(seed: number): () => number {
  let state = seed + 1
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
