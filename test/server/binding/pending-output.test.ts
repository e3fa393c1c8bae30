/** The bytes that wait for all sockets of a handler, and the time in which a reader must take some. */
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, it } from 'vitest'
import { yieldToEventLoop } from '../../../src/runtime/timers.js'
import { PendingOutput, type Output } from '../../../src/server/binding/pending-output.js'

class Connection implements Output {
  bytes = 10
  isDropped = false
  left = (): number => this.bytes
  drop = (): void => {
    this.isDropped = true
  }
}

function pendingOutput(maxPendingBytes: number) {
  const clock = new ManualClock()
  return { clock, output: new PendingOutput({ maxPendingBytes, stalledTimeoutMs: 1_000 }, clock) }
}

describe('a reader', () => {
  it('that takes nothing for the time is dropped, and one that takes a byte is not', async () => {
    const { clock, output } = pendingOutput(1_000)
    const [stalled, slow, done] = [new Connection(), new Connection(), new Connection()]
    for (const each of [stalled, slow, done]) output.hold(10, each)
    slow.bytes = 9
    done.bytes = 0
    clock.advance(999)
    expect(stalled.isDropped).toBe(false)
    clock.advance(1)
    await yieldToEventLoop()
    expect([stalled, slow, done].map(({ isDropped }) => isDropped)).toEqual([true, false, false])
    clock.advance(1_000)
    await yieldToEventLoop()
    expect(slow.isDropped).toBe(true)
    expect(clock.pending).toBe(0)
  })

  it('may take all after the process has stood still', async () => {
    const { clock, output } = pendingOutput(1_000)
    const connection = new Connection()
    output.hold(10, connection)
    clock.advance(1_000_000)
    connection.bytes = 0
    await yieldToEventLoop()
    expect(connection.isDropped).toBe(false)
    expect(clock.pending).toBe(0)
  })

  it('that has taken all leaves no timer', () => {
    const { clock, output } = pendingOutput(1_000)
    const held = output.hold(10, new Connection())
    expect(clock.pending).toBe(1)
    output.release(held)
    output.release(held)
    expect(clock.pending).toBe(0)
  })
})

describe('the room', () => {
  it('is denied to output beyond half of the bytes, whose connection is dropped', () => {
    const { output } = pendingOutput(1_000)
    const [first, second, third] = [new Connection(), new Connection(), new Connection()]
    const held = output.hold(500, first)
    expect(output.hold(1, second)).toBeUndefined()
    expect([first.isDropped, second.isDropped]).toEqual([false, true])
    output.release(held)
    // What is alone is never too large.
    expect(output.hold(5_000, third)).toBeDefined()
    expect(third.isDropped).toBe(false)
  })

  it('goes to the answer that has waited longest, and then to the next', async () => {
    const { output } = pendingOutput(1_000)
    const held = output.hold(250, new Connection())
    expect(output.hasRoom).toBe(false)
    const order: number[] = []
    const waits = [1, 2].map((each) => output.room().then(() => order.push(each)))
    output.wake()
    await Promise.resolve()
    expect(order).toEqual([])
    output.release(held)
    await waits[0]
    expect(order).toEqual([1])
    output.wake()
    await waits[1]
    expect(order).toEqual([1, 2])
  })
})
