/** The suite for queues, on a queue in memory that repeats, reorders, delays and loses turns, and drops what was rejected. */
import type { Turn } from 'a2a-tasks/server'
import { testDispatch, type QueueConsumer, type QueueUnderTest } from 'a2a-tasks/testing'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { runsAll } from '../support/samples.js'

type Run = (turn: Turn) => Promise<void>

/** Turns that a consumer works on at a time. */
const CONCURRENCY = 20

/** Numbers from 0 to 1, the same in each run. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647
}

/** @param faults - How often a turn is lost, repeated, or delivered although it waits, of 1. */
function memoryQueue(faults: number, random: () => number): QueueUnderTest {
  const waiting: Turn[] = []
  let isAway = false
  const put = (turn: Turn): void => {
    // Anywhere among the others.
    if (random() >= faults) waiting.splice(Math.floor(random() * (waiting.length + 1)), 0, turn)
  }
  const consume = (run: Run): Promise<QueueConsumer> => {
    let isClosed = false
    const deliver = async (turn: Turn): Promise<void> => {
      if (random() < faults) put(turn)
      await run(turn).catch(async () => {
        await yieldToEventLoop()
        put(turn)
      })
    }
    const loop = async (): Promise<void> => {
      while (!isClosed) {
        const turn = isAway ? undefined : waiting.shift()
        await (turn === undefined ? yieldToEventLoop() : deliver(turn))
      }
    }
    const loops = Array.from({ length: CONCURRENCY }, loop)
    const close = async (): Promise<void> => {
      isClosed = true
      await Promise.all(loops)
    }
    return Promise.resolve({ close })
  }
  return {
    dispatch: (turn) => {
      if (isAway) throw new Error('The queue is away')
      put(turn)
    },
    consume,
    close: () => Promise.resolve(),
    halt: () => {
      isAway = true
      return Promise.resolve()
    },
    restart: () => {
      isAway = false
      return Promise.resolve()
    },
  }
}

describe.each([
  ...(runsAll ? [['that keeps all', 0] as const] : []),
  ['that loses and repeats a fifth', 0.2] as const,
])('a queue %s', (_, faults) => {
  const random = randomFrom(17)
  testDispatch({
    test,
    create: () => Promise.resolve(memoryQueue(faults, random)),
    supports: { halt: true },
    turns: runsAll ? 2_000 : 100,
  })
})

test.each([
  [{ turns: 0 }, '"turns"'],
  [{ create: undefined }, '"create"'],
  [{ supports: { kill: true } }, '"supports.kill"'],
])('%o is refused', (wrong, named) => {
  const given = { test, create: () => Promise.resolve(memoryQueue(0, Math.random)), ...wrong } as never
  expect(() => testDispatch(given)).toThrow(named)
})
