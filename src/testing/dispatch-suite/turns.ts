/**
 * Tests of tasks of several turns.
 *
 * @module
 */
import type { Execute } from '../../server/execute.js'
import { onAbort } from '../../runtime/abort.js'
import { equal } from '../task-store-suite/checks.js'
import type { DispatchKit, DispatchTests } from './kit.js'

export const turnTests: DispatchTests = {
  'an answer, the end of a sleep and a signal begin a turn each': async (house) => {
    const handler = house.handler()
    await house.worker({ execute: converse(house) })
    const id = await house.beginOne(handler)
    await untilState(house, id, 'input-required')
    await handler.send('window', { taskId: id })
    const hasWait = async (): Promise<boolean> =>
      (await house.tasks.journal(id)).some(({ entry }) => entry.kind === 'wait')
    await house.until('the task waits for a signal', hasWait)
    // Its code has left the memory by then.
    await house.pass(90_000)
    await house.tasks.signal(id, 'paid', 42)
    await untilState(house, id, 'completed')
    const { artifacts } = await house.task(id)
    equal('the result', artifacts.at(-1)?.parts?.[0]?.text, 'window 42 1 1')
  },

  'a task that is canceled while it waits in the queue is not begun': async (house) => {
    const id = await house.beginOne(house.handler())
    await house.tasks.cancelTask(id)
    await house.worker()
    const next = await house.beginOne(house.handler())
    await house.allDoneOnce([next])
    equal('the state', (await house.task(id)).state, 'canceled')
  },

  'a task that is canceled while a worker is at it stops': async (house) => {
    let reason: unknown
    const id = await house.beginOne(house.handler())
    await house.worker({
      execute: (run) => {
        run.start()
        return new Promise((_, reject) => {
          onAbort(run.signal, () => {
            reason = run.signal.reason
            reject(new Error('stopped'))
          })
        })
      },
    })
    await untilState(house, id, 'working')
    await house.tasks.cancelTask(id)
    await house.until('the code is told', () => reason !== undefined)
    equal('the state', (await house.task(id)).state, 'canceled')
  },
}

/** Asks, sleeps and waits for a signal, with a step before and after. */
function converse(house: DispatchKit): Execute {
  return async (run) => {
    const before = await run.step('before', ({ key }) => house.ran(key))
    const { parts } = await run.requireInput('Which seat?')
    await run.sleep('pause', { ms: 90_000 })
    const paid = await run.waitFor<number>('paid')
    const after = await run.step('after', ({ key }) => house.ran(key))
    return [parts[0]?.text, paid, before, after].join(' ')
  }
}

async function untilState(house: DispatchKit, id: string, state: string): Promise<void> {
  await house.until(`the task is ${state}`, async () => (await house.task(id)).state === state)
}
