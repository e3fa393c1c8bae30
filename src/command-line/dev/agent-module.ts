/**
 * The agent of a user's module: what its default export is, and the handler that serves it.
 *
 * @module
 */
import { basename, extname } from 'node:path'
import type { InspectedHandler, InspectedTasks } from 'a2a-tasks/inspector'
import { createRequestHandler, type RequestHandlerOptions } from 'a2a-tasks/server'
import { errorText } from '../terminal/error-text.js'

/** The field of a card that is used rather than its `url`. */
const INTERFACES = 'supportedInterfaces'

type FetchAgent = (request: Request) => Promise<Response> | Response

export interface DevAgent {
  readonly fetch: FetchAgent
  /** The URL that the card names, where it is not the one that is served. */
  readonly otherUrl?: string
  /** The handler with the tasks of the agent. Absent for a handler of another kind. */
  readonly handler?: InspectedAgent
}

/** A handler whose tasks an inspector can show. */
export type InspectedAgent = InspectedHandler & { readonly tasks: InspectedTasks }

/**
 * The handler for the default export of a module: an executor, options of `createRequestHandler`, or a handler. Options get
 * `url` as the URL of their card: one of production would send clients there.
 *
 * @throws {TypeError} for any other export.
 */
export function agentOf(exported: unknown, file: string, url: string): DevAgent {
  if (typeof exported === 'function') {
    const name = basename(file, extname(file))
    // Any function can be called with a run. What it returns is checked then.
    const execute = exported as RequestHandlerOptions['execute']
    return devAgent(
      createRequestHandler({
        ...{ card: { name, url }, execute, anonymous: 'shared', recordStacks: true, onError: reportError },
      }),
    )
  }
  if (typeof exported === 'object' && exported !== null) {
    if ('fetch' in exported && typeof exported.fetch === 'function') return handlerOf(exported, url)
    if ('execute' in exported && 'card' in exported) {
      // Checked by createRequestHandler, property by property.
      const options = exported as RequestHandlerOptions
      const { card } = options
      const local = Object.fromEntries(
        Object.entries({ ...card, url }).filter(([name]) => name !== INTERFACES),
      )
      return devAgent(
        createRequestHandler({
          onError: reportError,
          recordStacks: true,
          ...options,
          // The card as it was, at another address.
          card: local as unknown as RequestHandlerOptions['card'],
        }),
      )
    }
  }
  throw new TypeError(
    `The default export of ${file} must be an execute function, options of createRequestHandler, or a handler with fetch`,
  )
}

function handlerOf(handler: object, url: string): DevAgent {
  // A property that is a function, which the caller has checked.
  const { fetch, card } = handler as {
    fetch: FetchAgent
    card?: { supportedInterfaces?: { url?: unknown }[] }
  }
  const named = card?.supportedInterfaces?.[0]?.url
  const isOther =
    typeof named === 'string' && URL.canParse(named) && !isSamePlace(new URL(named), new URL(url))
  return {
    fetch: (request) => fetch(request),
    ...(isOther && { otherUrl: named }),
    ...(isInspectable(handler) && { handler }),
  }
}

function devAgent(handler: InspectedAgent & { readonly fetch: FetchAgent }): DevAgent {
  return { fetch: handler.fetch, handler }
}

/** Handlers of `createRequestHandler` have these properties. */
function isInspectable(handler: object): handler is InspectedAgent {
  return 'tasks' in handler && 'dispatch' in handler && 'card' in handler
}

function isSamePlace(a: URL, b: URL): boolean {
  const names = ['localhost', '127.0.0.1', '[::1]']
  return a.port === b.port && names.includes(a.hostname) && names.includes(b.hostname)
}

export function reportError(error: unknown): void {
  process.stderr.write(`${errorText(error, process.cwd())}\n`)
}
