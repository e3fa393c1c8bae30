/**
 * Tests of a queue that repeats, reorders, loses and refuses turns.
 *
 * @module
 */
import type { Turn } from '../../server/dispatch.js'
import type { DispatchTests } from './kit.js'
import { texts } from './texts.js'

const TEXTS = texts(20)

export const deliveryTests: DispatchTests = {
  'each turn is done once': async (house) => {
    const ids = await house.begin(house.handler(), TEXTS)
    await house.worker()
    await house.worker()
    await house.allDoneOnce(ids)
  },

  'a turn is done once that is handed out several times, in any order': async (house, queue) => {
    const held: Turn[] = []
    let isHolding = true
    const handler = house.handler((turn) => (isHolding ? held.push(turn) : queue.dispatch(turn)))
    const ids = await house.begin(handler, TEXTS)
    await house.until('all turns are handed out', () => held.length >= ids.length)
    isHolding = false
    await house.worker()
    await house.worker()
    for (const turn of [...held.reverse(), ...held, ...held]) await queue.dispatch(turn)
    await house.allDoneOnce(ids)
  },

  'a turn is done once that is delivered to several at once': async (house) => {
    const ids = await house.begin(house.handler(), TEXTS)
    const deliver = async (run: (turn: Turn) => Promise<void>, turn: Turn): Promise<void> => {
      await Promise.all([run(turn), run(turn), run(turn)])
    }
    await house.worker({ deliver })
    await house.worker({ deliver })
    await house.allDoneOnce(ids)
  },

  'a turn is done once whose acknowledgement is lost': async (house) => {
    const ids = await house.begin(house.handler(), TEXTS)
    const seen = new Set<string>()
    await house.worker({
      deliver: async (run, turn) => {
        await run(turn)
        if (seen.has(turn.id)) return
        seen.add(turn.id)
        throw new Error('The acknowledgement is lost')
      },
    })
    await house.allDoneOnce(ids)
    const { send } = house.handler()
    const later = await send('later')
    await house.allDoneOnce([...ids, ...(later === undefined ? [] : [later])])
  },

  'a turn is handed out again that the queue has lost': async (house, queue) => {
    const lost = new Set<string>()
    const handler = house.handler((turn) => {
      if (lost.has(turn.id)) return queue.dispatch(turn)
      return lost.add(turn.id)
    })
    const ids = await house.begin(handler, TEXTS)
    await house.worker()
    await house.allDoneOnce(ids)
  },

  'a turn is handed out again that the queue has refused': async (house, queue) => {
    const refused = new Map<string, number>()
    const handler = house.handler((turn) => {
      const times = (refused.get(turn.id) ?? 0) + 1
      refused.set(turn.id, times)
      if (times < 5) throw new Error('The queue is away')
      return queue.dispatch(turn)
    })
    const ids = await house.begin(handler, TEXTS)
    await house.worker()
    await house.allDoneOnce(ids)
  },
}
