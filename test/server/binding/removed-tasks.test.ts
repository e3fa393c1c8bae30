/** Tasks that were removed while their readers take answers: they take bounded memory. */
import { describe, expect, test } from 'vitest'
import { LargeTexts } from '../../../src/server/binding/large-texts.js'
import { RemovedTasks, shownIn } from '../../../src/server/binding/removed-tasks.js'

const LONG = 'x'.repeat(100_000)

function setUp(max: number) {
  const removed = new Set<string>()
  const tasks = new RemovedTasks(max, ({ taskId }) => !removed.has(taskId))
  const dropped: string[] = []
  const task = (id: string) => ({ id, createdAt: 'now', text: LONG })
  const read = (shown: object, name: string) => tasks.read(shownIn(shown), () => dropped.push(name))
  return { removed, tasks, dropped, task, read }
}

describe('answers that hold more removed tasks than there is room for', () => {
  test('are dropped, the oldest first', () => {
    const { removed, tasks, dropped, task, read } = setUp(250_000)
    for (const id of ['a', 'b', 'c', 'd']) read({ task: task(id) }, id)
    tasks.trim()
    expect(dropped).toEqual([])
    for (const id of ['a', 'c']) removed.add(id)
    tasks.trim()
    expect(dropped).toEqual([])
    for (const id of ['b', 'd']) removed.add(id)
    tasks.trim()
    expect(dropped).toEqual(['b', 'a'])
    tasks.trim()
    expect(dropped).toEqual(['b', 'a'])
  })

  test('share a task: it counts once', () => {
    const { removed, tasks, dropped, task, read } = setUp(150_000)
    removed.add('a')
    const one = task('a')
    for (let count = 0; count < 5; count++) read({ task: one }, 'a')
    tasks.trim()
    expect(dropped).toEqual([])
  })

  test('count no more once they are complete', () => {
    const { removed, tasks, dropped, task, read } = setUp(150_000)
    for (const id of ['a', 'b', 'c']) {
      removed.add(id)
      const end = read({ task: task(id) }, id)
      tasks.trim()
      end()
    }
    expect(dropped).toEqual([])
  })

  test('are those of lists and of events, too', () => {
    const { removed, tasks, dropped, task, read } = setUp(50_000)
    read({ tasks: [{ task: task('a') }, { task: task('b') }] }, 'a list')
    read({ type: 'event', event: { taskId: 'b', text: LONG } }, 'an event')
    read({ type: 'message', message: {} }, 'a message')
    removed.add('b')
    tasks.trim()
    expect(dropped).toEqual(['an event', 'a list'])
  })
})

test('large texts of removed tasks are not kept for the next reader, and readers of too much are dropped', async () => {
  const removed = new Set<string>()
  const texts = new LargeTexts(250_000, ({ taskId }) => !removed.has(taskId))
  let made = 0
  const encoder = { encode: () => ({ made: (made += 1), text: LONG }) }
  const task = { id: 'a', createdAt: 'now', text: LONG.repeat(3) }
  const view = { type: 'task', task }
  const isShared = async (): Promise<boolean> => {
    const text = await texts.of({ result: texts.encode(encoder, view, view) })
    const isBytes = typeof text.next() !== 'string' || typeof text.next() !== 'string'
    text.release()
    return isBytes
  }
  expect(await isShared()).toBe(true)
  const reading = await texts.of({ result: texts.encode(encoder, view, view) })
  let isDropped = false
  reading.drop = () => {
    isDropped = true
    reading.release()
  }
  texts.trim()
  expect(isDropped).toBe(false)
  removed.add('a')
  texts.trim()
  expect(isDropped).toBe(true)
  // What is not kept leaves its room to others.
  texts.trim()
  const other = Object.freeze({ text: 'y'.repeat(200_000) })
  const pieces = await texts.of({ other })
  expect([pieces.next(), pieces.next()].some((piece) => typeof piece !== 'string')).toBe(true)
})
