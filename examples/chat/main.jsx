import { useEffect } from 'react'
import { createRoot } from 'react-dom/client'
import { useChat } from '@ai-sdk/react'
import { lastAssistantMessageIsCompleteWithApprovalResponses as sendAutomaticallyWhen } from 'ai'
import { a2aChatTransport } from 'a2a-tasks/chat'
import { A2AClient, bearerAuth, formOf, valueFromText } from 'a2a-tasks/client'

const user = new URLSearchParams(location.search).get('user') ?? 'ann'
const id = (localStorage[`chat of ${user}`] ??= crypto.randomUUID())
const kept = JSON.parse(localStorage[id] ?? '[]')
const transport = a2aChatTransport(A2AClient.connect('/agent', { sameOrigin: true, auth: bearerAuth(user) }))

const INPUTS = { boolean: { type: 'checkbox', value: 'yes' }, number: { type: 'number' } }

function Question({ id, message, form: { fields }, chat }) {
  const read = (data) => fields.map((f) => [f.name, valueFromText(f.form, data.get(f.name) ?? 'no')?.value])
  const answer = (data) => ({ type: 'data-answers', data: { [id]: Object.fromEntries(read(data)) } })
  return (
    <form className="card" action={(data) => chat.sendMessage({ parts: [answer(data)] })}>
      <strong>{message}</strong>
      {fields.map(({ name, label, form }) => (
        <label key={name}>
          {label} <input name={name} {...INPUTS[form.type]} />
        </label>
      ))}
      <button>Answer</button>
    </form>
  )
}

function Part({ part, isLast, chat }) {
  const { type, text, data, toolName: tool, state, approval, output } = part
  if (type === 'data-question') return isLast && <Question {...data} form={formOf(data.schema)} chat={chat} />
  if (text || type === 'data-answers') return <p>{text ?? JSON.stringify(Object.values(data)[0])}</p>
  if (state !== 'approval-requested' || !isLast) return tool && <p>{`⚙ ${tool}: ${output ?? state}`}</p>
  const decide = (approved) => () => chat.addToolApprovalResponse({ id: approval.id, approved })
  return (
    <form className="card" action={decide(true)}>
      <strong>{approval.requestReason}</strong> <button>Approve</button>
      <button formAction={decide(false)}>Reject</button>
    </form>
  )
}

function Chat() {
  const chat = useChat({ id, transport, messages: kept, resume: true, sendAutomaticallyWhen })
  const isBusy = /submitted|streaming/.test(chat.status)
  const isAsked = chat.messages.at(-1)?.parts.some(({ state }) => state === 'approval-requested')
  useEffect(() => void (localStorage[id] = JSON.stringify(chat.messages)), [chat.messages])
  return [
    ...chat.messages.map(({ id, role, parts }, at) => (
      <div key={id} className={role}>
        {parts.map((part, i) => (
          <Part key={i} {...{ part, chat, isLast: !chat.messages[at + 1] }} />
        ))}
      </div>
    )),
    chat.error && <p key="error" role="alert" children={chat.error.message} />,
    <form key="form" action={(data) => chat.sendMessage({ text: data.get('text') })}>
      <input name="text" aria-label="Message" placeholder={`Write as ${user}`} disabled={isAsked} />
      <button formAction={isBusy ? chat.stop : undefined}>{isBusy ? 'Stop' : 'Send'}</button>
    </form>,
  ]
}

createRoot(document.querySelector('main')).render(<Chat />)
