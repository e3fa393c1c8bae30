/** BullMQ gives turns to a worker in the order of their priorities, as the page on workers says. */
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler, createWorker, textOf, type PriorityOf } from 'a2a-tasks/server'
import { expect, it, onTestFinished } from 'vitest'
import { skipWithoutRedis, startRedis } from '../../support/redis-server.js'
import { skipMissing } from '../installed.js'

it('the turns with the longest head start come first', { timeout: 60_000 }, async (context) => {
  skipWithoutRedis(context)
  skipMissing(context, 'bullmq')
  const { Queue, Worker } = await import('bullmq')
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  const connection = { url: redis.url, maxRetriesPerRequest: null }
  const queue = new Queue('turns', { connection })
  onTestFinished(() => queue.close())
  const tasks = new DurableTaskManager({ store: memoryStore() })
  onTestFinished(() => tasks.destroy())
  const card = { name: 'Shop', url: 'http://agent.test' }
  const priorityOf: PriorityOf = ({ messages: [first] }) => (first === undefined ? 0 : Number(textOf(first)))
  const handler = createRequestHandler({
    ...{ card, tasks, priorityOf },
    dispatch: (turn) =>
      queue.add('turn', turn, {
        ...{ jobId: turn.id, removeOnComplete: true, removeOnFail: true },
        priority: Math.max(1, Math.round(2_000_000 - turn.priority / 1_000)),
      }),
  })
  onTestFinished(() => handler.close({ graceMs: 0 }))
  const texts = ['0', '60000', '2592000000', '600000']
  for (const text of texts) {
    const message = { messageId: text, role: 'ROLE_USER', parts: [{ text }] }
    const params = { message, configuration: { returnImmediately: true } }
    await handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })
  }
  await expect.poll(() => queue.getPrioritizedCount()).toBe(texts.length)
  const begun: string[] = []
  const worker = createWorker({ card, tasks, execute: (run) => void begun.push(run.text) })
  onTestFinished(() => worker.close({ graceMs: 0 }))
  const consumer = new Worker<{ taskId: string }>('turns', ({ data }) => worker.run(data), { connection })
  onTestFinished(() => consumer.close())
  await expect.poll(() => begun).toEqual(['2592000000', '600000', '60000', '0'])
})
