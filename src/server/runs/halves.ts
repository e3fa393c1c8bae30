/**
 * Characters that chunks of an artifact cut in two. UTF-8 cannot hold half of one, and models are cut by tokens.
 *
 * @module
 */
import type { AppendArtifactOptions, ArtifactInput, PartInput } from '../../core/params.js'

type TextInput = PartInput & { readonly text: string }

/** The half that waits, in a part with the other fields of the one that it ended. */
interface Half {
  readonly part: TextInput
  /** Larger than those of halves that came before. */
  readonly number: number
}

type Chunk = ArtifactInput & { readonly artifactId: string }

const REPLACEMENT = '\ufffd'

/**
 * The halves at the ends of chunks. Each waits for the next chunk of its artifact. What stays alone becomes U+FFFD, as the
 * manager does with every other half.
 */
export class Halves {
  readonly #waiting = new Map<string, Half>()
  #count = 0

  /** The chunk to write in place of `chunk`: after the half that waited, and without the one that waits now. */
  take(chunk: Chunk, options: AppendArtifactOptions = {}): Chunk {
    const before = this.#waiting.get(chunk.artifactId)
    const parts = chunk.parts ?? []
    const last = parts.at(-1)
    if (before === undefined && !endsInHalf(last)) return chunk
    this.#waiting.delete(chunk.artifactId)
    const whole = before === undefined || options.append === false ? [...parts] : continued(before.part, parts)
    const end = whole.at(-1)
    if (options.lastChunk !== true && endsInHalf(end)) {
      this.#count += 1
      this.#waiting.set(chunk.artifactId, {
        part: { ...end, text: end.text.slice(-1) },
        number: this.#count,
      })
      whole[whole.length - 1] = { ...end, text: end.text.slice(0, -1) }
    }
    return { ...chunk, parts: whole }
  }

  /** A place in the order of halves, for {@link removeSince}. */
  get mark(): number {
    return this.#count
  }

  /** Removes the halves that began to wait after `mark`, and returns the chunks that replace them. */
  removeSince(mark: number): Chunk[] {
    if (this.#waiting.size === 0) return []
    const ended = [...this.#waiting].filter(([, { number }]) => number > mark)
    return ended.map(([artifactId, { part }]) => {
      this.#waiting.delete(artifactId)
      return { artifactId, parts: [{ ...part, text: REPLACEMENT }] }
    })
  }
}

/** `parts` after the half: in the first text, or alone before something else. */
function continued(half: TextInput, [first, ...others]: readonly PartInput[]): PartInput[] {
  if (first === undefined) return [half]
  if (isText(first)) return [{ ...first, text: half.text + first.text }, ...others]
  return [{ ...half, text: REPLACEMENT }, first, ...others]
}

function endsInHalf(part: PartInput | undefined): part is TextInput {
  if (!isText(part)) return false
  const unit = part.text.charCodeAt(part.text.length - 1)
  return unit >= 0xd800 && unit <= 0xdbff
}

/** Code may pass anything. */
function isText(part: PartInput | undefined): part is TextInput {
  return typeof part?.text === 'string'
}
