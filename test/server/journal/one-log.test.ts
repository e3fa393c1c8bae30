/** The history is a part of the log of a task, which clients and reads of the task do not see. */
import { setImmediate as turn } from 'node:timers/promises'
import type { TaskStreamEvent } from 'a2a-tasks'
import type { Execute } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { BINDINGS, user } from '../spec/support/agent.js'
import { preview, SPEAKING } from '../support/generation.js'
import { agent, MANAGERS } from './support/managers.js'

const SECRETS = /secret/

const execute: Execute = async (run) => {
  run.artifact('begun')
  await run.step('secret-step', () => 'secret output')
  await run.step('secret-failure', () => Promise.reject(new Error('secret message'))).catch(() => undefined)
  await Promise.all([run.sleep('secret-sleep', { ms: 1 }), run.step('secret-other', () => ['secret'])])
  await run.waitFor('secret-signal')
  run.artifact('asking')
  await run.requireInput('Which?')
  run.changed('secret-change')
  return 'done'
}

describe.each(MANAGERS)('over %s', (_, open) => {
  test.each(BINDINGS)(
    '$name: clients see nothing of the history, and generations that rise',
    async (binding) => {
      const { handler, tasks, reaches, journal, clock } = await agent(open, execute, { preview })
      const texts: string[] = []
      const ask = async (
        operation: Parameters<typeof binding.request>[0],
        params: object,
      ): Promise<string> => {
        const init = { headers: SPEAKING['1.1'] }
        const text = await (await handler.fetch(binding.request(operation, params, init))).text()
        texts.push(text)
        return text
      }
      const streamed = ask('SendStreamingMessage', { message: user('go') })
      let id: string | undefined
      for (let turns = 0; id === undefined && turns < 1_000; turns += 1) {
        await turn()
        id = (await tasks.pageTasks({})).tasks[0]?.id
      }
      if (id === undefined) throw new Error('The agent made no task')
      await reaches(id, 'working')
      await tasks.signal(id, 'secret-signal', 'secret value')
      await reaches(id, 'input-required')
      await streamed
      const answered = ask('SendStreamingMessage', { message: user('this one', { taskId: id }) })
      await reaches(id, 'completed')
      clock.advance(1_000)
      await answered
      await ask('GetTask', { id })
      await ask('ListTasks', { includeArtifacts: true })
      for (const text of texts) expect(text).not.toMatch(SECRETS)
      const seen = [...(await streamed).matchAll(/"generation":(\d+)/g)].map(([, number]) => Number(number))
      expect(seen.length).toBeGreaterThan(3)
      expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b))
      // Those of the history are left out.
      const hidden = (await journal(id)).map(({ generation }) => generation)
      expect(hidden.length).toBeGreaterThan(10)
      expect(seen.filter((generation) => hidden.includes(generation))).toEqual([])
    },
  )

  test('a subscriber in the process sees the whole log, and reads of the task nothing of the history', async () => {
    const { say, tasks, reaches, journal } = await agent(open, execute)
    const id = await say('go')
    const log: TaskStreamEvent[] = []
    const subscription = tasks.subscribe(id, { after: 0 })
    const read = (async () => {
      for await (const event of subscription) log.push(event)
    })()
    await reaches(id, 'working')
    await tasks.signal(id, 'secret-signal', 'secret value')
    await reaches(id, 'input-required')
    await say('this one', id)
    await reaches(id, 'completed')
    await read
    expect(log.map(({ generation }) => generation)).toEqual(log.map((__, index) => index + 1))
    expect(log.filter(({ type }) => type === 'journal')).toEqual(await journal(id))
    for (const kind of [
      'step',
      'sleep',
      'wake',
      'wait',
      'signal',
      'received',
      'question',
      'answer',
      'change',
    ])
      expect((await journal(id)).map(({ entry }) => entry.kind)).toContain(kind)
    const reads = [await tasks.getTask(id), await tasks.peekTask(id), await tasks.pageTasks({})]
    expect(JSON.stringify(reads)).not.toMatch(/secret/)
  })
})
