/** Concurrent changes of one task by several managers, in random order, over healthy and failing stores. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { A2AError, type TaskEvent, type TaskStreamEvent, type TaskUpdate } from 'a2a-tasks'
import type { DurableTaskManager } from 'a2a-tasks/durable'
import { foldAll, logOf, reading, says } from './support/durable.js'
import { markOf, play, randomOf, type Play } from './support/interleaving.js'
import { samples } from '../support/samples.js'

type Change = (tasks: DurableTaskManager, id: string, mark: string, generation: number) => Promise<unknown>

const CHANGES: readonly Change[] = [
  (tasks, id, mark) => tasks.addMessage(id, says(mark)),
  (tasks, id, mark) => tasks.addMessage(id, says(mark)),
  (tasks, id, mark) => tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: mark }] }),
  (tasks, id, mark) => tasks.patchTask(id, { message: mark }),
  (tasks, id, mark) => tasks.patchTask(id, { state: 'working', message: mark }),
  (tasks, id, mark) => tasks.updateTask(id, { state: 'input-required', message: mark }),
  (tasks, id, mark, expectedGeneration) => tasks.addMessage(id, says(mark), { expectedGeneration }),
  (tasks, id) => tasks.patchTask(id, { state: 'submitted' } satisfies TaskUpdate),
]

interface Made {
  readonly mark: string
  /** `undefined` while it is not settled, `true` when it was accepted, or the error. */
  outcome: unknown
}

/** Has `count` changes made, at managers and moments that chance chooses. */
function makeChanges({ managers, committed, begin }: Play, id: string, count: number, seed: number): Made[] {
  const random = randomOf(seed)
  const choose = <T>(all: readonly T[]): T => {
    const one = all[Math.floor(random() * all.length)]
    if (one === undefined) throw new RangeError('Nothing to choose from')
    return one
  }
  return Array.from({ length: count }, (_, index) => {
    const made: Made = { mark: `change ${index}`, outcome: undefined }
    const change = choose(CHANGES)
    const manager = choose(managers)
    begin(async () => {
      made.outcome = await change(manager, id, made.mark, committed.get(id) ?? 0).then(
        () => true,
        (error: unknown) => error,
      )
    })
    return made
  })
}

/** Every accepted change is in the log once, a refused one is not; a failed one may be. */
function expectMarks(log: readonly TaskEvent[], made: readonly Made[]): void {
  const marks = log.map(markOf).filter((mark) => mark?.startsWith('change'))
  for (const { mark, outcome } of made) {
    const count = marks.filter((each) => each === mark).length
    if (A2AError.is(outcome, 'STORE_FAILED')) expect(count).toBeLessThanOrEqual(1)
    else if (outcome === true) expect(count, mark).toBe(1)
    else expect([count, A2AError.is(outcome)], String(outcome)).toEqual([0, true])
  }
}

const plays = fc.record({
  seed: fc.nat(2 ** 31 - 1),
  managers: fc.integer({ min: 1, max: 3 }),
  faults: fc.constantFrom(0, 0, 3, 15),
  eventLogSize: fc.constantFrom(1, 3, 1000),
})

test('each change is stored once or not at all, and every reader receives each in its order', async () => {
  await fc.assert(
    fc.asyncProperty(plays, async (options) => {
      const acted = play(options)
      const { store, managers, committed, begin, end, heal } = acted
      const [a] = managers
      if (a === undefined) throw new RangeError('No manager')
      const id = 'task'
      // A client whose answer was lost has to ask again, and is refused.
      begin(() => a.createTask({ skill: 'test', id }))
      await end()
      const emitted: TaskEvent[] = []
      for (const manager of managers) {
        manager.on('task:event', (event) => {
          emitted.push(event)
          expect(event.generation).toBeLessThanOrEqual(committed.get(event.taskId) ?? 0)
        })
        manager.on('listener:error', ({ error }) => {
          throw error
        })
      }
      const whole = managers.map((manager) => reading(manager.subscribe(id, { after: 0 })))
      const parts = managers.map((manager) => reading(manager.subscribe(id)))
      for (const manager of [...managers, ...managers]) {
        begin(() => Promise.resolve(whole.push(reading(manager.subscribe(id, { after: 0 })))))
        begin(() => Promise.resolve(parts.push(reading(manager.subscribe(id)))))
      }
      const made = makeChanges(acted, id, 40, options.seed)
      await end()
      heal()
      begin(() => a.cancelTask(id))
      for (const { ended } of [...whole, ...parts]) begin(() => ended)
      const waits = managers.map((manager) => manager.waitFor(id))
      for (const wait of waits) begin(() => wait)
      await end()

      const log = await logOf(store, id)
      expect(log.map(({ generation }) => generation)).toEqual(log.map((_, index) => index + 1))
      expectMarks(log, made)
      const task = foldAll(log)
      for (const wait of waits) expect(await wait).toEqual(task)
      for (const { entries, ended } of whole) {
        expect(await ended).toBeUndefined()
        expect(entries).toEqual(log)
      }
      for (const { entries } of parts) expectTail(entries, log)
      // Each is emitted by the manager that made it: once.
      const generations = emitted.map(({ generation }) => generation)
      expect(new Set(generations).size).toBe(generations.length)
      for (const event of emitted) expect(event).toEqual(log[event.generation - 1])
      if (options.faults === 0) expect(emitted.length).toBe(log.length - 1)
      for (const manager of managers) begin(() => manager.destroy())
      await end()
    }),
    { numRuns: samples(100) },
  )
})

/** From a snapshot on, all that came after it. */
function expectTail([first, ...others]: readonly TaskStreamEvent[], log: readonly TaskEvent[]): void {
  if (first?.type !== 'snapshot') throw new Error(`It began with ${first?.type}`)
  expect(first.task).toEqual(foldAll(log.slice(0, first.generation)))
  expect(others).toEqual(log.slice(first.generation))
}
