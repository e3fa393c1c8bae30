/**
 * A message that is being written: its text and its files.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useId, useState } from 'preact/hooks'
import type { FilePart, Session } from './api.js'
import { bytes } from './format.js'

const OCTETS = 'application/octet-stream'
/** What the message takes beside its files. */
const RESERVED_BYTES = 16_384

/** A message that is being written. */
export interface Draft {
  /** Whether it can be sent. */
  readonly isReady: boolean
  /** What it says, to be confirmed. */
  readonly summary: string
  /** @param label - Its label, or the id of the element that is its label. */
  readonly textField: (label: string | { readonly id: string }) => VNode
  readonly fileField: VNode
  readonly content: () => Promise<{ readonly text?: string; readonly files?: readonly FilePart[] }>
  readonly clear: () => void
}

/** A text and files, within what the server takes. */
export function useDraft({ maxFiles, maxMessageBytes }: Session): Draft {
  const [text, setText] = useState('')
  const [files, setFiles] = useState<readonly File[]>([])
  const said = text.trim()
  const maxBytes = Math.max(0, Math.floor(((maxMessageBytes - RESERVED_BYTES) * 3) / 4))
  const failure = failureOf(files, maxFiles, maxBytes)
  return {
    isReady: failure === '' && (said !== '' || files.length > 0),
    summary: [said, ...files.map(({ name }) => name)].join('\n').trim(),
    textField: (label) =>
      html`<label>
        ${typeof label === 'string' && html`<span>${label}</span>`}
        <textarea
          rows="2"
          aria-labelledby=${typeof label === 'string' ? undefined : label.id}
          value=${text}
          onInput=${(event: Event) => setText((event.currentTarget as HTMLTextAreaElement).value)}
        ></textarea>
      </label>`,
    fileField: html`<${FileField} files=${files} setFiles=${setFiles} failure=${failure} />`,
    content: async () => ({
      ...(said !== '' && { text: said }),
      ...(files.length > 0 && { files: await partsOf(files) }),
    }),
    clear: () => {
      setText('')
      setFiles([])
    },
  }
}

interface FileFieldProps {
  readonly files: readonly File[]
  readonly setFiles: (files: readonly File[]) => void
  readonly failure: string
}

function FileField({ files, setFiles, failure }: FileFieldProps): VNode {
  const id = useId()
  const add = (event: Event): void => {
    const input = event.currentTarget as HTMLInputElement
    setFiles([...files, ...(input.files ?? [])])
    // The same file may be chosen again after it was removed.
    input.value = ''
  }
  return html`<div class="attachments">
    <label class="attach">
      <span class="plain">Add files</span>
      <input type="file" multiple onChange=${add} aria-describedby=${failure === '' ? undefined : id} />
    </label>
    ${files.map(
      (file) =>
        html`<span class="chosen">
          <span class="file-name">${file.name}</span> <span class="quiet">${bytes(file.size)}</span>
          <button
            type="button"
            class="link"
            aria-label=${`Remove ${file.name}`}
            onClick=${() => setFiles(files.filter((each) => each !== file))}
          >
            ✕
          </button>
        </span>`,
    )}
    <p id=${id} class=${failure === '' ? 'unseen' : 'notice'} role="alert">${failure}</p>
  </div>`
}

function failureOf(files: readonly File[], maxFiles: number, maxBytes: number): string {
  const total = files.reduce((sum, { size }) => sum + size, 0)
  if (files.length > maxFiles) return `These are ${files.length} files. A message takes at most ${maxFiles}.`
  if (total > maxBytes) return `These files take ${bytes(total)}. A message takes at most ${bytes(maxBytes)}.`
  return ''
}

function partsOf(files: readonly File[]): Promise<FilePart[]> {
  return Promise.all(
    files.map(async (file) => ({
      filename: file.name,
      mediaType: file.type || OCTETS,
      raw: await base64Of(file),
    })),
  )
}

function base64Of(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onerror = () => reject(new Error(`${file.name} cannot be read`))
    // As it is read as a URL, the result is a text.
    reader.onload = () => resolve((reader.result as string).replace(/^[^,]*,/, ''))
    reader.readAsDataURL(file)
  })
}
