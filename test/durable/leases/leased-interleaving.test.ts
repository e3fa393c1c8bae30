/** A leased task that other processes change at the same time, in random order. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { A2AError, type TaskEvent, type TaskSnapshot } from 'a2a-tasks'
import type { LeasedTasks } from 'a2a-tasks/durable'
import { foldAll, logOf, reading, says } from '../support/durable.js'
import { markOf, play, randomOf } from '../support/interleaving.js'
import { worker } from '../support/leased.js'
import { samples } from '../../support/samples.js'

const plays = fc.record({
  seed: fc.nat(2 ** 31 - 1),
  managers: fc.integer({ min: 1, max: 3 }),
  faults: fc.constantFrom(0, 0, 5),
})

type Deed = (leased: LeasedTasks, mark: string) => unknown

const DEEDS: readonly Deed[] = [
  (leased, mark) => leased.addMessage('x', { role: 'agent', parts: [{ text: mark }] }),
  (leased, mark) => leased.appendArtifact('x', { artifactId: 'a', parts: [{ text: mark }] }),
  (leased, mark) => leased.patchTask('x', { message: mark }),
  (leased, mark) => leased.patchTask('x', { state: 'working', message: mark }),
  (leased, mark) => leased.patchTask('x', { state: 'input-required', message: mark }),
]

/** The task as built from the holder's own changes and from the notifications of others' changes. */
test('the holder receives every change of others once, and each of its own is stored or overtaken', async () => {
  await fc.assert(
    fc.asyncProperty(plays, async (options) => {
      const { store, managers, begin, end, heal } = play(options)
      const random = randomOf(options.seed)
      const [a] = managers
      if (a === undefined) throw new RangeError('No manager')
      const here = worker(a)
      const { leased } = here
      leased.createTask({ skill: 'test', id: 'x' })
      const signal = leased.signalOf('x')
      begin(() => leased.stored('x'))
      await end()
      const acquired = await leased.acquire('x')

      const own = new Set<string>()
      const sent: { mark: string; isStored: unknown }[] = []
      const deed = async (mark: string): Promise<void> => {
        try {
          DEEDS[Math.floor(random() * DEEDS.length)]?.(leased, mark)
          own.add(mark)
        } catch (error) {
          if (!A2AError.is(error, 'INVALID_TRANSITION') && !A2AError.is(error, 'TASK_TERMINAL')) throw error
        }
        await leased.stored('x')
      }
      const send = async (index: number): Promise<void> => {
        const manager = managers[index % managers.length] ?? a
        const by = manager === a ? leased : worker(manager).leased
        const seen: TaskSnapshot | null = await manager.peekTask('x')
        if (seen === null || seen.state === 'canceled') return
        const mark = `sent ${index}`
        const isStored = await by.send(seen, acquired.leaseId, says(mark)).catch((error: unknown) => error)
        sent.push({ mark, isStored })
      }
      for (let index = 0; index < 15; index += 1) {
        begin(() => deed(`own ${index}`))
        begin(() => send(index))
      }
      const manager = managers.at(-1) ?? a
      if (random() < 0.5) begin(() => manager.addMessage('x', says('of the manager')))
      if (random() < 0.3) begin(() => manager.cancelTask('x'))
      const finished: unknown[] = []
      if (random() < 0.5) {
        begin(async () => {
          const before = here.calls.length
          const done = await leased.finish('x', { state: 'failed' }).catch((error: unknown) => error)
          finished.push(done)
          if (done === false) expect(here.calls.length).toBeGreaterThan(before)
        })
      }
      const read = reading(a.subscribe('x', { after: 0 }))
      await end()
      heal()
      // Reading the task finds the latest change and notifies the holder.
      begin(() => a.peekTask('x'))
      await end()

      const log = await logOf(store, 'x')
      expect(log.map(({ generation }) => generation)).toEqual(log.map((_, index) => index + 1))
      expect(here.calls.filter((each) => 'lost' in each)).toEqual([])
      expect(leased.peekTask('x')).toEqual(foldAll(log))
      const received = here.calls.flatMap((each) => ('changed' in each ? each.events : []))
      // What is received is stored by then, so it has its place in the log: each once, in order.
      expect(received).toEqual(received.map(({ generation }) => log[generation - 1]))
      const places = received.map(({ generation }) => generation)
      expect(places).toEqual([...new Set(places)].toSorted((x, y) => x - y))
      const isOwn = (event: TaskEvent): boolean => own.has(markOf(event) ?? '')
      expect(received.filter(isOwn)).toEqual([])
      const messages = (events: readonly TaskEvent[]): TaskEvent[] =>
        events.filter((event) => event.type === 'message' && !isOwn(event))
      expect(messages(received)).toEqual(messages(log))
      for (const { mark, isStored } of sent) {
        const count = log.filter((event) => markOf(event) === mark).length
        if (typeof isStored === 'boolean') expect(count).toBe(isStored ? 1 : 0)
      }
      const hasEnded = ['canceled', 'failed'].includes(leased.peekTask('x')?.state ?? '')
      for (const mark of own) {
        const count = log.filter((event) => markOf(event) === mark).length
        // Nothing but the end of the task overtakes what he did.
        if (hasEnded) expect(count).toBeLessThanOrEqual(1)
        else expect(count, mark).toBe(1)
      }
      if (finished[0] === true) expect(leased.peekTask('x')?.state).toBe('failed')
      if (leased.peekTask('x')?.state === 'canceled') expect(signal.aborted).toBe(true)
      if (!hasEnded) begin(() => a.cancelTask('x'))
      begin(() => read.ended)
      await end()
      expect(read.entries).toEqual(await logOf(store, 'x'))
      for (const each of managers) begin(() => each.destroy())
      await end()
    }),
    { numRuns: samples(150) },
  )
})
