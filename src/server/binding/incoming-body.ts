/**
 * One request body while it arrives: its buffer, and the memory that it may take.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { unavailable } from '../unavailable.js'

const EMPTY = new Uint8Array()
const MIN_CAPACITY = 1024

/** The bytes that the bodies of one handler hold. */
export class BodyBudget {
  readonly #max: number
  #held = 0

  constructor(max: number) {
    this.#max = max
  }

  /** @throws {A2AError} `UNAVAILABLE`. */
  reserve(bytes: number): void {
    if (this.#held + bytes > this.#max) throw unavailable('receives too many bytes at a time')
    this.#held += bytes
  }

  release(bytes: number): void {
    this.#held -= bytes
  }
}

/**
 * One body while it arrives. Its chunks are copied into one buffer that grows: each chunk that is kept would cost some
 * hundred bytes beside its content, and a client chooses how many there are.
 */
export class IncomingBody {
  /** When the body must be complete, in monotonic time. */
  readonly dueAt: number
  /** Set by the adapter that reads the chunks; called when the body is refused between two of them. */
  onRefused: (error: A2AError) => void = () => {}
  readonly #max: number
  readonly #budget: BodyBudget
  #bytes: Uint8Array = EMPTY
  #size = 0
  #declared: number | undefined
  #refusal: A2AError | undefined

  constructor(max: number, dueAt: number, budget: BodyBudget) {
    this.#max = max
    this.dueAt = dueAt
    this.#budget = budget
  }

  /**
   * Takes the header `Content-Length`, which not every request has.
   *
   * @throws {A2AError} `LIMIT_EXCEEDED` when it is too large.
   */
  declare(length: string | null): void {
    if (length === null || !/^\d{1,15}$/.test(length)) return
    this.#declared = Number(length)
    if (this.#declared > this.#max) throw tooLarge(this.#max, this.#declared)
  }

  /**
   * @throws {A2AError} `LIMIT_EXCEEDED`, `UNAVAILABLE`. The body is then refused and holds no memory.
   * @throws {TypeError} for text: a framework may have set an encoding.
   */
  add(chunk: Uint8Array): void {
    if (this.#refusal !== undefined) throw this.#refusal
    if (!ArrayBuffer.isView(chunk)) throw new TypeError('The chunks of a request body must be bytes')
    const offset = this.#size
    const size = offset + chunk.byteLength
    try {
      if (size > this.#max) throw tooLarge(this.#max, size)
      if (offset === 0 && this.#isWhole(chunk)) {
        this.#budget.reserve(size)
        this.#bytes = chunk
      } else {
        if (size > this.#bytes.byteLength) this.#grow(size)
        this.#bytes.set(chunk, offset)
      }
    } catch (error) {
      // Nothing else is thrown.
      this.#refusal = error as A2AError
      this.release()
      throw error
    }
    this.#size = size
  }

  /** The body so far. */
  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#size)
  }

  /** Refuses the body while its next chunk is awaited. */
  refuse(error: A2AError): void {
    this.#refusal = error
    this.release()
    this.onRefused(error)
  }

  /** Frees the memory. Can be called again. */
  release(): void {
    this.#budget.release(this.#bytes.byteLength)
    this.#bytes = EMPTY
    this.#size = 0
  }

  /** Whether a first chunk is probably the whole body, and keeps no larger buffer alive: copying it would be in vain. */
  #isWhole({ byteLength, buffer }: Uint8Array): boolean {
    return byteLength === this.#declared || byteLength === buffer.byteLength
  }

  /** Doubles the buffer, up to the size that the body can have. The old one and the new one are within twice that size. */
  #grow(size: number): void {
    const { byteLength } = this.#bytes
    const wanted = Math.max(MIN_CAPACITY, 2 * byteLength)
    const capacity = Math.max(size, Math.min(this.#declared ?? this.#max, wanted))
    this.#budget.reserve(capacity - byteLength)
    const bytes = new Uint8Array(capacity)
    bytes.set(this.bytes())
    this.#bytes = bytes
  }
}

/** Reads a stream into `body`. A body that is refused is not canceled, which would close the connection. */
export function collect(stream: ReadableStream<Uint8Array>, body: IncomingBody): Promise<Uint8Array> {
  const reader = stream.getReader()
  const refused = new Promise<never>((_, reject) => {
    body.onRefused = reject
  })
  const complete = async (): Promise<Uint8Array> => {
    try {
      for (;;) {
        const { done, value } = await reader.read().catch(() => {
          throw disconnected()
        })
        if (done) return body.bytes()
        body.add(value)
      }
    } finally {
      // Not while a chunk is awaited: some runtimes throw then.
      reader.releaseLock()
    }
  }
  return Promise.race([complete(), refused])
}

/** The error of a body that will not be complete. */
export function disconnected(): A2AError {
  const reason = 'The client has gone'
  return new A2AError('UNAVAILABLE', reason, { reason })
}

function tooLarge(max: number, actual: number): A2AError {
  return new A2AError('LIMIT_EXCEEDED', `The body exceeds maxBodyBytes (${max})`, {
    limit: 'maxBodyBytes',
    max,
    actual,
  })
}
