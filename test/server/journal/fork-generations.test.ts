/** Forks at each generation of a task that has used everything which a history records. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Task, TaskStreamEvent } from 'a2a-tasks'
import { textOf, type DelegationAgent, type Execute } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { agent, MANAGERS, textsOf, type Agent } from './support/managers.js'

/** An agent without a network, and the ids of the messages that it received. */
function airline(): { readonly client: DelegationAgent; readonly received: string[] } {
  const received: string[] = []
  const client = {
    card: { name: 'Airline', supportedInterfaces: [{ url: 'https://airline.example' }] },
    async run({ messageId }: { messageId: string }, options: Following): Promise<unknown> {
      received.push(messageId)
      await options.onStart({ messageId })
      options.onUpdate({ handle: { messageId, taskId: 'flight' } })
      await turn()
      return { ok: true, type: 'completed', text: 'flew', task: { id: 'flight', state: 'completed' } }
    },
  }
  // Delegations call nothing else of a client.
  return { client: client as unknown as DelegationAgent, received }
}

interface Following {
  readonly onStart: (handle: object) => Promise<void>
  readonly onUpdate: (update: object) => void
}

function traveller(client: DelegationAgent): { readonly execute: Execute; readonly calls: string[] } {
  const calls: string[] = []
  const execute: Execute = async (run) => {
    const log = (text: string): string => run.artifact({ artifactId: 'log', parts: [{ text: `${text} ` }] })
    const step = (name: string): Promise<string> =>
      run.step(name, async () => {
        await turn()
        calls.push(name)
        return name
      })
    if (run.text === 'home') {
      log(await step('e'))
      const said = textOf(await run.requireInput('Again?'))
      await Promise.all([step('f'), run.waitFor('landed'), run.sleep('rest', { ms: 5 })])
      return `home: ${said}`
    }
    log('begin')
    log(await step('a'))
    log((await Promise.all([step('b'), step('c'), run.sleep('rest', { ms: 5 })])).join(''))
    log(textOf(await run.requireInput('Where?')))
    log(`${typeof run.uuid()} ${run.changed('once')}`)
    log(await run.waitFor<string>('ready'))
    log((await run.delegate('flight', client, 'Book')).text)
    await run.step('fail', () => Promise.reject(new Error('Delayed'))).catch(() => log('late'))
    return await run.continueAs('home')
  }
  return { execute, calls }
}

const ANSWERS: Readonly<Record<string, string>> = { 'Where?': 'Rome', 'Again?': 'Yes' }
const SIGNALS = ['ready', 'landed']

/** Answers the questions of a task and sends its signals until it has ended. */
async function travel({ tasks, say, journal, clock }: Agent, id: string): Promise<Task> {
  for (let turns = 0; turns < 3_000; turns += 1) {
    const task = await tasks.getTask(id)
    if (task === null || ['completed', 'failed'].includes(task.state)) break
    const entries = (await journal(id)).map(({ entry }) => entry)
    const asked =
      task.state === 'input-required' ? ANSWERS[task.messages.at(-1)?.parts[0]?.text ?? ''] : undefined
    if (asked !== undefined) await say(asked, id)
    for (const name of SIGNALS) {
      const isAwaited = entries.some((entry) => entry.kind === 'wait' && entry.name === `${name}#1`)
      const isSent = entries.some((entry) => entry.kind === 'signal' && entry.name === name)
      if (isAwaited && !isSent) await tasks.signal(id, name, name)
    }
    clock.advance(20)
    await turn()
  }
  const task = await tasks.getTask(id)
  if (task === null) throw new Error('The task is gone')
  return task
}

/** What clients see of the task. */
function shown(task: Task): object {
  return {
    state: task.state,
    artifacts: textsOf(task),
    messages: task.messages.map(({ role, parts }) => [role, parts]),
  }
}

function isRecorded(log: readonly TaskStreamEvent[], generation: number, step: string): boolean {
  return log.some(
    (event) =>
      event.type === 'journal' &&
      event.generation <= generation &&
      event.entry.kind === 'step' &&
      event.entry.name === `${step}#1`,
  )
}

describe.each(MANAGERS.slice(0, 3))('over %s', (_, open) => {
  test('forks of all generations, and forks of these, end as the task has', async () => {
    const { client, received } = airline()
    const { execute, calls } = traveller(client)
    const from = await agent(open, execute)
    const { tasks, errors } = from
    const { id } = await travel(from, await from.say('go'))
    const task = await travel(from, id)
    expect(shown(task)).toMatchObject({
      state: 'completed',
      artifacts: ['begin a bc Rome string true ready flew late e ', 'home: Yes'],
    })
    const log = await tasks.events(id)
    const began = log.find((event) => event.type === 'journal')?.generation ?? 0
    let done = calls.length
    for (const { generation } of log) {
      const forked = tasks.fork(id, { generation })
      if (generation < began) {
        await expect(forked).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
        continue
      }
      const fork = await forked
      expect(shown(await travel(from, fork.id)), `fork of ${generation}`).toEqual(shown(task))
      const again = await tasks.fork(fork.id, { generation: fork.generation })
      expect(shown(await travel(from, again.id)), `fork of the fork of ${generation}`).toEqual(shown(task))
      // Recorded steps are not done again, in either fork.
      const left = ['a', 'b', 'c', 'e', 'f'].filter((name) => !isRecorded(log, generation, name))
      expect(calls.slice(done).sort(), `steps of ${generation}`).toEqual([...left, ...left].sort())
      done = calls.length
    }
    expect(shown((await tasks.getTask(id)) as Task)).toEqual(shown(task))
    expect(new Set(received).size).toBe(received.length)
    expect(errors).toEqual([])
    for (const generation of [0, -1, log.length + 1, 1.5, NaN])
      await expect(tasks.fork(id, { generation })).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
  })
})
