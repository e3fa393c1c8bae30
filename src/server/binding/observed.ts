/**
 * Answers to requests that observers follow.
 *
 * @module
 */
import type { JsonObject } from '../../core/json-types.js'
import { untilLeft } from '../operations/facts.js'
import { Trail, type HandlerObserver } from '../observers.js'
import type { HttpAnswer, HttpRequest, Respond } from './exchange.js'
import { LargeText } from './large-texts.js'

/** `dispatch` of a handler, with a context of type `C`. It ends the trail of a stream itself. */
export type Dispatch<C> = (
  body: unknown,
  context?: C,
  trail?: Trail,
) => Promise<JsonObject | AsyncIterableIterator<JsonObject>>

export function observedRespond(respond: Respond, observers: readonly HandlerObserver[]): Respond {
  const answer = async (request: HttpRequest): Promise<HttpAnswer> => {
    const trail = Trail.of(observers, { http: request })
    if (trail === undefined) return respond(request)
    request.trail = trail
    return await trail.within(async () => followed(await respond(request), trail))
  }
  return Object.assign(answer, { output: respond.output })
}

function followed(answer: HttpAnswer, trail: Trail): HttpAnswer {
  const { status, body } = answer
  trail.record({ status })
  if (typeof body === 'string' || body === null || body instanceof LargeText) {
    trail.end()
    return answer
  }
  return { ...answer, body: { ...body, frames: untilLeft(body.frames, () => trail.end()) } }
}

export function observedDispatch<C>(
  dispatch: Dispatch<C>,
  observers: readonly HandlerObserver[],
): Dispatch<C> {
  return async (body, context) => {
    const trail = Trail.of(observers, {})
    if (trail === undefined) return dispatch(body, context)
    return await trail.within(async () => {
      let isStream = false
      try {
        const answer = await dispatch(body, context, trail)
        isStream = Symbol.asyncIterator in answer
        return answer
      } finally {
        if (!isStream) trail.end()
      }
    })
  }
}
