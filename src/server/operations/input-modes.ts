/**
 * Check of the media types that a message's parts have.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { Part } from '../../core/task.js'
import type { AgentCard } from '../../schemas/agent-card.js'

/**
 * Refuses parts of a media type that neither the card nor any of its skills lists (A2A 1.0 §3.1.1). Parts without a
 * media type are accepted.
 *
 * @throws {A2AError} `CONTENT_TYPE_NOT_SUPPORTED`.
 */
export function requireInputModes(card: AgentCard, parts: readonly Part[]): void {
  const modes = [card.defaultInputModes, ...card.skills.map(({ inputModes = [] }) => inputModes)].flat()
  const isAccepted = (type: string): boolean =>
    modes.some((mode) =>
      [essence(type), `${essence(type).split('/')[0]}/*`, '*/*', '*'].includes(essence(mode)),
    )
  const refused = parts.find(({ mediaType }) => mediaType !== undefined && !isAccepted(mediaType))
  if (refused === undefined) return
  const mediaType = refused.mediaType ?? ''
  throw new A2AError('CONTENT_TYPE_NOT_SUPPORTED', `The agent does not accept parts of type ${mediaType}`, {
    mediaType,
  })
}

/** The media type without parameters, in lower case. */
function essence(mediaType: string): string {
  return mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
}
