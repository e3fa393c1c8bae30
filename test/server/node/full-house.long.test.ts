/** A server with a heap of 512 MB that holds as much as its default limits allow: other clients still get answers. */
import { afterEach, expect, it } from 'vitest'
import { fill, House } from '../../support/full-house.js'

const houses: House[] = []
afterEach(() => {
  for (const house of houses.splice(0)) house.close()
})

it('a full house answers other clients, and has memory left', { timeout: 300_000 }, async () => {
  const house = await House.open(512)
  houses.push(house)
  const { metadata, body } = await fill(house, 'eve')
  expect(metadata).toMatchObject({ status: 503, retryAfter: '1' })
  expect(['', 'HTTP/1.1 503 Service Unavailable']).toContain(body)

  for (let turn = 0; turn < 10; turn++) {
    const { status, taskId } = await house.send('bob', 'answer', { text: 'Hi' })
    expect(status).toBe(200)
    const task: unknown = await (await house.request(`/tasks/${taskId}`, 'bob')).json()
    expect(task).toMatchObject({
      id: taskId,
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ text: 'Hello, bob' }] }],
      history: [{ parts: [{ text: 'Hi' }] }],
    })
    const list: unknown = await (await house.request('/tasks', 'bob')).json()
    expect(list).toMatchObject({
      totalSize: turn + 1,
      tasks: [{ id: taskId }, ...Array.from({ length: turn }, () => ({}))],
    })
  }
  const { heapUsed } = await house.usage()
  expect(heapUsed).toBeLessThan(450_000_000)
  expect(house.isOpen).toBe(true)
})
