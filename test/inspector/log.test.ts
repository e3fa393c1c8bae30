/** The log in the page: the task as it was at each event. */
import { evolve, TaskManager, type TaskSnapshot } from 'a2a-tasks'
import { describe, expect, it } from 'vitest'
import { layoutOf, NODE_HEIGHT, pathOf } from '../../src/inspector/page/task/diagram-layout.js'
import { TaskLog } from '../../src/inspector/page/task/log.js'
import { bandsOf, placeOf, placesOf } from '../../src/inspector/page/task/bands.js'
import { asClientCode, asCurl, asTest } from '../../src/inspector/page/task/snippets.js'
import { A2A_LIFECYCLE } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import { fakeAgent, ManualClock } from 'a2a-tasks/testing'
import { agentOver } from './support/inspected.js'

function longLog(): { log: TaskLog; tasks: readonly TaskSnapshot[] } {
  const manager = new TaskManager()
  const { id } = manager.createTask({ skill: 'count' })
  manager.updateTask(id, { state: 'working' })
  for (let index = 0; index < 200; index += 1) {
    manager.appendArtifact(id, { artifactId: 'a', parts: [{ text: `${index} ` }] })
  }
  manager.updateTask(id, { state: 'completed' })
  const log = new TaskLog()
  const tasks: TaskSnapshot[] = []
  for (const event of manager.events(id)) {
    log.add(event)
    tasks.push(evolve(tasks.at(-1), event))
  }
  return { log, tasks }
}

describe('TaskLog', () => {
  it('gives the task at every event, checkpoints included', () => {
    const { log, tasks } = longLog()
    expect(log.entries.length).toBe(203)
    for (const [index, task] of tasks.entries()) expect(log.at(index)).toEqual(task)
  })

  it('ignores known entries, and finds entries by generation', () => {
    const { log } = longLog()
    for (const entry of log.entries.slice(0, 3)) log.add(entry)
    expect(log.entries.length).toBe(203)
    expect([1, 77, 203, 999].map((generation) => log.indexOf(generation))).toEqual([0, 76, 202, 202])
  })
})

describe('the timeline', () => {
  const at = (second: number): string => new Date(second * 1_000).toISOString()
  const history = [
    { state: 'submitted', timestamp: at(0) },
    { state: 'working', timestamp: at(0) },
    { state: 'completed', timestamp: at(100) },
  ]
  const bands = bandsOf({ ...longLog().tasks[0], history } as unknown as TaskSnapshot<string>, 100_000)

  it('gives each state its time, and at least a part of the width', () => {
    expect(bands.map(({ from, to }) => to - from)).toEqual([0, 100_000, 0])
    expect(bands.every(({ share }) => share > 0.03)).toBe(true)
    expect(bands.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1)
  })

  it('places times from the first to the last', () => {
    const places = [1_000, 50_000, 99_000].map((time) => placeOf(bands, time))
    expect(places).toEqual(places.toSorted((a, b) => a - b))
    expect(placeOf(bands, 200_000)).toBe(1)
  })
})

describe('the marks of the timeline', () => {
  it('are in the bands of their states, also of a task that took no time', () => {
    const clock = new ManualClock()
    const manager = new TaskManager({ clock })
    const { id } = manager.createTask({ skill: 'quick' })
    manager.updateTask(id, { state: 'working' })
    manager.updateTask(id, { message: 'half' })
    manager.updateTask(id, { state: 'completed' })
    const task = manager.getTask(id)
    if (task === null) throw new Error('There is no task')
    const places = placesOf(bandsOf(task, clock.now()), manager.events(id))
    const third = (place: number): number => Math.floor(place * 3)
    expect(places.map(third)).toEqual([0, 1, 1, 2])
  })
})

it('no edge of the diagram passes through a node', () => {
  const { nodes, edges } = layoutOf(A2A_LIFECYCLE)
  for (const edge of edges) {
    const [, y = ''] = / (\S+) H\S+$/.exec(pathOf(edge)) ?? []
    const between = nodes.filter(({ x }) => x > edge.from.x && x < edge.to.x)
    const hit = between.filter((node) => Number(y) >= node.y && Number(y) <= node.y + NODE_HEIGHT)
    expect([edge.from.state, edge.to.state, hit]).toEqual([edge.from.state, edge.to.state, []])
  }
})

it('the diagram has each state once, with the ends in the last column', () => {
  const { nodes, edges } = layoutOf(A2A_LIFECYCLE)
  expect(nodes.map(({ state }) => state).toSorted()).toEqual(A2A_LIFECYCLE.states.toSorted())
  const right = Math.max(...nodes.map(({ x }) => x))
  expect(nodes.filter(({ x }) => x === right).map(({ state }) => state)).toEqual([...A2A_LIFECYCLE.terminal])
  expect(edges.length).toBe(Object.values(A2A_LIFECYCLE.transitions).flat().length)
})

describe('a task as code', () => {
  const ask = async (): Promise<{ task: TaskSnapshot<string>; log: TaskLog }> => {
    const agent = await agentOver('TaskManager')
    const client = new A2AClient({
      card: agent.card,
      fetch: (url, init) => agent.fetch(new Request(url, init)),
    })
    await client.run('ask', { onInputRequired: () => "the 'red' one\u2028`${1}`" })
    const [first] = await agent.tasks.listTasks()
    const id = first?.id ?? ''
    const log = new TaskLog()
    for (const event of await agent.tasks.events(id)) log.add(event)
    const { latest } = log
    if (latest === undefined) throw new Error('There is no task')
    return { task: latest, log }
  }

  it('is a test that passes', async () => {
    const { task, log } = await ask()
    const code = asTest(task, log.entries)
    const body = code.replace(/^import .*\n/gm, '')
    const tests: (() => Promise<void>)[] = []
    const register = (_: string, test: () => Promise<void>): number => tests.push(test)
    const names = ['A2AClient', 'fakeAgent', 'expect', 'it']
    // The code is to be run.
    const run = Reflect.construct(Function, [...names, body]) as (...values: unknown[]) => void
    run(A2AClient, fakeAgent, expect, register)
    await tests[0]?.()
    expect(tests.length).toBe(1)
    expect(code).toContain('requireInput("Which one?")')
  })

  it('quotes what a shell would read', async () => {
    const { task } = await ask()
    const [message] = task.messages
    const hostile = {
      ...task,
      messages: message && [{ ...message, parts: [{ text: `'; rm -rf / #$(id)` }] }],
    }
    expect(asCurl(hostile as TaskSnapshot<string>, 'http://agent.test')).toContain(`'\\''; rm -rf / #$(id)`)
    expect(asClientCode(task, 'http://agent.test')).toContain('await agent.run("ask"')
  })
})
