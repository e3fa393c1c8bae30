/**
 * A question before an action.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { messageOf } from './format.js'

interface ConfirmProps {
  readonly title: string
  readonly text: string
  readonly verb: string
  readonly isDangerous?: boolean
  readonly act: () => Promise<unknown>
  readonly close: (done: boolean) => void
  /** Fields of the action. */
  readonly children?: ComponentChildren
}

export function Confirm({
  title,
  text,
  verb,
  isDangerous = false,
  act,
  close,
  children,
}: ConfirmProps): VNode {
  const dialog = useRef<HTMLDialogElement>(null)
  const [failure, setFailure] = useState('')
  const [isBusy, setBusy] = useState(false)
  useEffect(() => dialog.current?.showModal(), [])
  const perform = async (): Promise<void> => {
    setBusy(true)
    try {
      await act()
      close(true)
    } catch (error) {
      setFailure(messageOf(error))
      setBusy(false)
    }
  }
  return html`<dialog ref=${dialog} aria-labelledby="confirm-title" onClose=${() => close(false)}>
    <h2 id="confirm-title">${title}</h2>
    <p class="text">${text}</p>
    ${children} ${failure !== '' && html`<p class="notice" role="alert">${failure}</p>`}
    <div class="buttons end">
      <button type="button" class="plain" onClick=${() => dialog.current?.close()}>Go back</button>
      <button
        type="button"
        class=${isDangerous ? 'danger solid' : 'solid'}
        disabled=${isBusy}
        onClick=${perform}
      >
        ${verb}
      </button>
    </div>
  </dialog>`
}

export interface ConfirmedProps extends Omit<ConfirmProps, 'close'> {
  /** The text of the button. */
  readonly label: string
  /** Called once the action is done. */
  readonly onDone?: () => void
}

/** A button, and the question before its action. */
export function Confirmed({ label, onDone, isDangerous = false, ...question }: ConfirmedProps): VNode {
  const [isAsking, setAsking] = useState(false)
  const close = (done: boolean): void => {
    setAsking(false)
    if (done) onDone?.()
  }
  return html`<button
      type="button"
      class=${isDangerous ? 'danger' : 'plain'}
      title=${question.text}
      onClick=${() => setAsking(true)}
    >
      ${label}
    </button>
    ${isAsking && html`<${Confirm} ...${question} isDangerous=${isDangerous} close=${close} />`}`
}
