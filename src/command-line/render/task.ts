/**
 * Tasks, as text.
 *
 * @module
 */
import { SPENDING, spendingOf } from 'a2a-tasks'
import { awaitedOthersOf, textOf, toolCallsIn, type RemoteTask } from 'a2a-tasks/client'
import { printableLine, printableLines } from '../terminal/printable.js'
import { bold, cyan, dim, green, red, yellow } from '../terminal/style.js'
import { partsText } from './parts.js'

export function stateText(state: string): string {
  if (state === 'completed') return green(state)
  if (state === 'failed' || state === 'rejected') return red(state)
  if (state === 'input-required' || state === 'auth-required') return yellow(state)
  return state === 'canceled' ? dim(state) : cyan(state)
}

export function taskLines(task: RemoteTask): string[] {
  const { id, contextId, state, message, updatedAt, artifacts, messages } = task
  const metadata = Object.fromEntries(Object.entries(task.metadata).filter(([key]) => key !== SPENDING))
  const facts = [
    `${bold('Task')}     ${printableLine(id)}`,
    `State    ${stateText(state)}`,
    ...(contextId === undefined ? [] : [`Context  ${printableLine(contextId)}`]),
    ...(updatedAt === undefined ? [] : [`Updated  ${printableLine(updatedAt)}`]),
    ...(message === undefined
      ? []
      : [`Message  ${printableLine(textOf(message) + othersText(task), 1_000)}`]),
    ...spentLines(task),
    ...(Object.keys(metadata).length === 0 ? [] : [`Metadata ${printableLine(JSON.stringify(metadata))}`]),
  ]
  const said = messages.flatMap(({ role, parts }) => [
    dim(`${role}:`),
    ...printableLines(partsText(parts).trimEnd()),
  ])
  const made = artifacts.flatMap(({ artifactId, name, parts, metadata }) => [
    dim(printableLine(`artifact: ${name ?? ''} (${artifactId})`)),
    ...toolCallsIn({ metadata }).map((call) => `  ${printableLine(`${call.name}: ${call.state}`)}`),
    ...printableLines(partsText(parts).trimEnd()),
  ])
  return [
    ...facts,
    ...(said.length === 0 ? [] : ['', bold('Conversation'), ...said]),
    ...(made.length === 0 ? [] : ['', bold('Artifacts'), ...made]),
  ]
}

/** For whose answer the task waits, where it is not that of this user. */
export function othersText(task: RemoteTask): string {
  const others = awaitedOthersOf(task)
  return others === undefined ? '' : ` (waits for ${others.join(' or ')})`
}

/** What the task has spent, in one line; none for nothing. */
export function spentLines(task: RemoteTask): string[] {
  const spent = Object.entries(spendingOf(task)?.total ?? {}).map(([unit, amount]) => `${amount} ${unit}`)
  return spent.length === 0 ? [] : [`Spent    ${printableLine(spent.join(', '))}`]
}

/** An id that begins a line. One that is no plain word is quoted, so that it begins as no line of the program does. */
export function idText(id: string): string {
  return /^[\w.-]{1,64}$/.test(id) ? id : JSON.stringify(printableLine(id, 64))
}

/** One line for each task. */
export function tasksTable(tasks: readonly RemoteTask[]): string[] {
  const rows = tasks.map((task) => ({
    id: idText(task.id),
    state: task.state,
    updated: printableLine(task.updatedAt ?? '', 24),
    text: printableLine(task.message === undefined ? lastText(task) : textOf(task.message), 60),
  }))
  const width = (of: (row: (typeof rows)[number]) => string): number =>
    Math.max(0, ...rows.map((row) => of(row).length))
  const [ids, states, times] = [
    width((row) => row.id),
    width((row) => row.state),
    width((row) => row.updated),
  ]
  return rows.map(({ id, state, updated, text }) => {
    const padding = ' '.repeat(states - state.length)
    return `${id.padEnd(ids)}  ${stateText(state)}${padding}  ${dim(updated.padEnd(times))}  ${text}`.trimEnd()
  })
}

function lastText({ messages }: RemoteTask): string {
  const last = messages.at(-1)
  return last === undefined ? '' : textOf(last)
}
