/** An agent that reads files. */
import { TaskManager } from 'a2a-tasks'
import { createRequestHandler, type RequestHandler } from 'a2a-tasks/server'
import { onTestFinished } from 'vitest'

/** An agent that says what it has received, and asks for a file. */
export function reader(maxBodyBytes = 65_536): RequestHandler {
  const tasks = new TaskManager()
  const handler = createRequestHandler({
    card: {
      name: 'Reader',
      url: 'http://agent.test',
      defaultInputModes: ['text/plain', 'image/*', 'text/csv'],
    },
    tasks,
    anonymous: 'shared',
    checkInputModes: true,
    limits: { maxBodyBytes, maxBodyBytesInFlight: maxBodyBytes },
    async execute(run) {
      const sent = await run.requireInput('Which file?')
      return [...run.message.parts, ...sent.parts]
        .map(({ text, filename, mediaType, raw }) => text ?? `${filename} ${mediaType} ${raw}`)
        .join('\n')
    },
  })
  onTestFinished(() => handler.close({ graceMs: 0 }))
  return handler
}
