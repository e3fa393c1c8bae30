/** Telemetry of the tasks of two request handlers over one store. */
import { expect, it } from 'vitest'
import type { Execute } from 'a2a-tasks/server'
import { trace } from '@opentelemetry/api'
import { instrumentHandler, instrumentTasks } from 'a2a-tasks/telemetry'
import {
  begin,
  pass,
  replicas,
  send,
  settle,
  textOf,
  type Replica,
} from '../server/durable/support/replicas.js'
import { gate } from '../server/spec/support/agent.js'
import { sdk, parentOf, idOf, traceOf } from './support/sdk.js'

/** Ends when it has asked. The answer begins another turn. */
const returning: Execute = (run) => {
  if (run.text !== 'go') return `to ${run.text}`
  run.requireInput('Which?').catch(() => undefined)
  return undefined
}

/** Waits for the answer. */
const waiting: Execute = async (run) => `to ${textOf(await run.requireInput('Which?'))}`

/** Asks at one replica and answers at the other, and gives each span of a task with its parent and its last state. */
async function talk(execute: Execute): Promise<string[]> {
  const { spans, inSpan } = sdk()
  const { a, b } = replicas(execute)
  instrumentTasks(a.tasks, { prefix: 'here' })
  instrumentTasks(b.tasks, { prefix: 'there' })
  const say = (name: string, at: Replica, text: string, id?: string): Promise<{ id: string }> =>
    inSpan(name, () => send(at, text, id))
  const { id } = await say('question', a, 'go')
  await settle()
  await say('answer', b, 'this', id)
  await settle()
  expect((await a.tasks.getTask(id))?.state).toBe('completed')
  await Promise.all([a.tasks.destroy(), b.tasks.destroy()])
  const all = spans()
  return all
    .filter(({ name }) => name.includes('.task.'))
    .map((span) => {
      const parent = all.find((each) => idOf(each) === parentOf(span))?.name ?? 'nothing'
      const state = span.attributes['a2a.task.state']
      return `${span.name} of ${parent}${typeof state === 'string' ? `: ${state}` : ''}`
    })
}

it('a replica that answers a question has its own span, in the trace of the answer', async () => {
  expect(await talk(returning)).toEqual([
    'here.task.submit of question',
    'here.task.execute of question',
    'there.task.execute of answer: TASK_STATE_COMPLETED',
  ])
})

it('a replica that passes the answer on to a waiting executor has none', async () => {
  expect(await talk(waiting)).toEqual([
    'here.task.submit of question',
    'here.task.execute of question: TASK_STATE_COMPLETED',
  ])
})

it('a run that begins with a message that another replica has received continues its trace', async () => {
  const { span, inSpan } = sdk()
  const first = gate()
  const runs: string[] = []
  const at =
    (replica: string): Execute =>
    async (run) => {
      runs.push(`${replica} ${trace.getActiveSpan()?.spanContext().traceId ?? ''}`)
      if (run.text !== 'go') return `then ${run.text}`
      run.start()
      await first.opened
      return void run.requireInput('Which?').catch(() => undefined)
    }
  const { a, b, clock } = replicas([at('a'), at('b')])
  for (const { handler } of [a, b]) instrumentHandler(handler)
  const { id } = await inSpan('question', () => begin(a, 'go'))
  await settle()
  await inSpan('answer', () => begin(b, 'this', id))
  await settle()
  expect(runs).toHaveLength(1)
  first.open()
  await pass(clock, async () => (await b.tasks.stateOf(id)) === 'completed')
  expect(runs).toEqual([`a ${traceOf(span('question'))}`, `a ${traceOf(span('answer'))}`])
  await Promise.all([a.tasks.destroy(), b.tasks.destroy()])
})
