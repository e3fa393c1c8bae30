/** The order in which calls to a database start, and how many there are at a time. */
import { expect, test } from 'vitest'
import { CallQueue, limitsFor, type StoreOperation } from '../../src/durable/call-queue.js'
import { turn } from './support/durable.js'

/** Calls that last until they are ended by hand. */
function calls(queue: CallQueue) {
  const running: string[] = []
  const ends = new Map<string, () => void>()
  const call = (operation: StoreOperation, name: string = operation): Promise<void> =>
    queue.run(operation, () => {
      running.push(name)
      return new Promise((resolve) => {
        ends.set(name, () => {
          running.splice(running.indexOf(name), 1)
          resolve()
        })
      })
    })
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.()
    await turn()
  }
  return { running, call, end }
}

test('reads leave room for a change and a renewal, and changes for a read and a renewal', () => {
  const queue = new CallQueue(() => limitsFor(10))
  const { running, call } = calls(queue)
  for (let n = 0; n < 33; n += 1) void call('list', `list ${n}`)
  expect(running).toHaveLength(8)
  for (let n = 0; n < 33; n += 1) void call('commit', `commit ${n}`)
  expect(running.slice(8)).toEqual(['commit 0'])
  void call('renew')
  expect(running.slice(9)).toEqual(['renew'])
  const other = calls(new CallQueue(() => limitsFor(10)))
  for (let n = 0; n < 33; n += 1) void other.call('commit', `commit ${n}`)
  void other.call('get')
  expect(other.running.slice(8)).toEqual(['get'])
})

test('a single connection makes renewals first, then changes, each kind in its order', async () => {
  const { running, call, end } = calls(new CallQueue(() => limitsFor(1)))
  for (const name of ['get', 'list', 'create', 'commit', 'renew'] as const) void call(name)
  const order: string[] = []
  for (let [name] = running; name !== undefined; [name] = running) {
    expect(running).toEqual([name])
    order.push(name)
    await end(name)
  }
  expect(order).toEqual(['get', 'renew', 'create', 'commit', 'list'])
})

test('a call that fails or throws makes room for the next', async () => {
  const queue = new CallQueue(() => limitsFor(1))
  const failing = queue.run('list', () => Promise.reject(new Error('failed')))
  const throwing = queue.run('list', () => {
    throw new Error('threw')
  })
  const last = queue.run('list', () => Promise.resolve('done'))
  await expect(failing).rejects.toThrow('failed')
  await expect(throwing).rejects.toThrow('threw')
  expect(await last).toBe('done')
})

test('calls that wait start when the limits have grown', async () => {
  let connections = 1
  const queue = new CallQueue(() => limitsFor(connections))
  const { running, call } = calls(queue)
  for (const name of ['get', 'list', 'renew'] as const) void call(name)
  expect(running).toEqual(['get'])
  connections = 4
  queue.startWaiting()
  await turn()
  expect(running).toEqual(['get', 'renew', 'list'])
})
