/** A client's talk with an agent over HTTP, on whatever runtime or page runs this. Asserts by throwing. */

/** @param client `a2a-tasks/client`, however loaded, @param url where an agent is that does as {@link execute}. */
export async function talk({ A2AClient, validateUrl }, url) {
  const agent = await A2AClient.connect(url)
  equal(agent.card.name, 'Echo')

  const sent = await agent.send('hello')
  equal(sent.task.artifacts[0].parts[0].text, 'You said: hello')

  const events = []
  for await (const { type } of agent.stream('hello')) events.push(type)
  equal(events.join(), 'task,status,artifact,status')

  const done = await agent.run('hello')
  equal(done.ok && done.text, 'You said: hello')

  const abortion = new AbortController()
  const onUpdate = ({ task }) => task.state === 'working' && abortion.abort()
  const aborted = await agent.run('wait', { signal: abortion.signal, onUpdate })
  equal(aborted.type, 'canceled')
  equal((await agent.getTask(aborted.task.id)).state, 'canceled')

  const refused = await agent.getTask('x').catch((error) => error)
  equal(refused.code, 'TASK_NOT_FOUND')
  equal(thrown(() => validateUrl('http://169.254.169.254/')).code, 'URL_BLOCKED')
}

/** What the agent does that {@link talk} talks to: `wait` waits until it is canceled. */
export async function execute(run) {
  if (run.text !== 'wait') return `You said: ${run.text}`
  run.start()
  return await new Promise((_, reject) => {
    run.signal.addEventListener('abort', () => reject(run.signal.reason))
  })
}

function thrown(call) {
  try {
    call()
  } catch (error) {
    return error
  }
  throw new Error(`${call} did not throw`)
}

function equal(actual, expected) {
  if (actual !== expected) throw new Error(`Expected ${expected}, got ${actual}`)
}
