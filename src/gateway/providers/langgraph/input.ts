/**
 * Conversion of messages to input of a LangGraph run.
 *
 * @module
 */
import { A2AError } from '../../../core/errors.js'
import type { DeepReadonly, Part } from '../../../core/task.js'
import type { JsonObject, JsonValue, ReadonlyJson } from '../../../core/json-types.js'
import type { ProviderTask } from '../../provider.js'

/**
 * Returns the input of a run: texts and images as a user message, data as `context`. If the message is a single object
 * of data, that is the input itself, for graphs without messages.
 *
 * @throws {A2AError} `CONTENT_TYPE_NOT_SUPPORTED` for files other than images, for which models have no common form.
 */
export function inputOf(task: ProviderTask): JsonValue {
  const { parts } = task.message
  const data = parts.flatMap((part) => (part.data === undefined ? [] : [part.data]))
  const images = parts.filter((part) => part.raw !== undefined || part.url !== undefined).map(imageOf)
  const [only] = data
  const isAlone = task.text === '' && images.length === 0 && data.length === 1
  if (isAlone && typeof only === 'object' && only !== null && !Array.isArray(only)) return json(only)
  const text = { type: 'text', text: task.text }
  const content = images.length === 0 ? task.text : [...(task.text === '' ? [] : [text]), ...images]
  return json({
    messages: [{ role: 'user', content }],
    ...(only !== undefined && { context: data.length === 1 ? only : data }),
  })
}

/** Returns the answer to an interrupt: the text, the value of a single data part, or all parts. */
export function answerOf({ message, text }: ProviderTask): JsonValue {
  const { parts } = message
  if (parts.every((part) => part.text !== undefined)) return text
  const [only] = parts
  // LangGraph treats null as no answer.
  const isData = parts.length === 1 && only?.data !== undefined && only.data !== null
  return json(isData ? only.data : parts)
}

/** Returns `config` with the tags of the message's metadata. */
export function configOf({ message }: ProviderTask): { readonly config?: JsonObject } {
  const tags: unknown = message.metadata?.['tags']
  if (!Array.isArray(tags)) return {}
  const texts = tags.filter((tag): tag is string => typeof tag === 'string')
  return texts.length === 0 ? {} : { config: { tags: texts } }
}

/** Form of an image that models of all vendors accept. */
function imageOf({ raw, url, mediaType = '' }: DeepReadonly<Part>): ReadonlyJson {
  if (!/^image\//i.test(mediaType)) {
    throw new A2AError(
      'CONTENT_TYPE_NOT_SUPPORTED',
      `LangGraph takes texts, data and images, not ${mediaType === '' ? 'files without a media type' : mediaType}`,
      { mediaType },
    )
  }
  const source = raw === undefined ? url : `data:${mediaType};base64,${raw}`
  return { type: 'image_url', image_url: { url: source ?? '' } }
}

/** The value is only serialized, which drops `undefined`. */
function json(value: unknown): JsonValue {
  return value as JsonValue
}
