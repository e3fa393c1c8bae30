/**
 * Abilities that checks need of an agent: it does what the first word of a message says. Agents for other work lack some of
 * them, and the checks that need one of these are skipped.
 */

import { Mismatch } from './mismatch.js'
import type { Called } from './answers.js'
import type { Target } from './targets.js'
import { isTerminal, plainTask, sentMessage, sentTask, updatesOf, type Update } from './tasks.js'
import type { WireCard } from './wire.js'

type Probe = (target: Target, card: WireCard) => Promise<boolean>

/**
 * The abilities that the agent shows to lack by answers that are right in themselves. An answer that breaks the protocol
 * shows nothing, so that the checks run and report it.
 */
export async function lackingOf(target: Target, card: WireCard): Promise<Set<string>> {
  const lacks = new Set<string>()
  for (const [ability, isShown] of Object.entries(PROBES)) {
    try {
      if (!(await isShown(target, card))) lacks.add(ability)
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error
    }
  }
  return lacks
}

const PROBES: Readonly<Record<string, Probe>> = {
  echo: async (target) => stateAfter(target, 'echo hello', 'completed'),
  async text(target) {
    const answer = await target.send('echo hello')
    return isTask(answer) && sentTask(answer).text.includes('hello')
  },
  ask: async (target) => stateAfter(target, 'ask', 'input-required'),
  async answer(target) {
    const asked = await target.send('ask')
    if (!isTask(asked)) return true
    const { id: taskId, state } = sentTask(asked)
    // What it does with "ask" is another ability.
    return state !== 'input-required' || !(await asksAfter(target, 'Ada', taskId))
  },
  fail: async (target) => stateAfter(target, 'fail', 'failed'),
  async reply(target) {
    const answer = await target.send('reply')
    return !isTask(answer) && sentMessage(answer).text !== ''
  },
  async wait(target) {
    const answer = await target.send('wait', { configuration: { returnImmediately: true } })
    if (!isTask(answer)) return false
    const { id } = sentTask(answer)
    // An agent that works for a moment only has ended by now.
    await new Promise((resolve) => setTimeout(resolve, 300))
    const { state } = plainTask(await target.call('GetTask', { id }))
    await target.call('CancelTask', { id })
    return state === 'submitted' || state === 'working'
  },
  stream: async (target, card) =>
    (await streamed(target, card)).some((update) => update.state === 'completed'),
  chunks: async (target, card) =>
    (await streamed(target, card)).filter(({ kind }) => kind === 'artifact').length >= 2,
}

async function stateAfter(target: Target, text: string, state: string): Promise<boolean> {
  const answer = await target.send(text)
  if (!isTask(answer)) return false
  const task = sentTask(answer)
  if (!isTerminal(task)) await target.call('CancelTask', { id: task.id })
  return task.state === state
}

/** Whether the agent asks again after this answer to its question, as one does that wants something else. */
async function asksAfter(target: Target, text: string, taskId: string): Promise<boolean> {
  const task = sentTask(await target.send(text, { taskId }))
  if (!isTerminal(task)) await target.call('CancelTask', { id: taskId })
  return task.state === 'input-required' || task.state === 'auth-required'
}

/** Whether the answer is a task. Throws if it is neither a task nor a message. */
function isTask(answer: Called): boolean {
  const { result } = answer
  if (result?.message !== undefined || result?.kind === 'message') return false
  sentTask(answer)
  return true
}

/** The updates of a stream, as far as the agent offers streams. */
async function streamed(target: Target, card: WireCard): Promise<readonly Pick<Update, 'kind' | 'state'>[]> {
  if (card.capabilities?.streaming !== true)
    return [{ kind: 'artifact', state: 'completed' }, { kind: 'artifact' }]
  return await updatesOf(target, await target.stream('stream'))
}
