/** The requests of A2A 1.0 as messages of Protocol Buffers, for the official parser of ProtoJSON. */
import { create, createFileRegistry, type DescFile, type DescMessage } from '@bufbuild/protobuf'
import {
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  FileDescriptorProtoSchema,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
} from '@bufbuild/protobuf/wkt'

/** `name:type`, in order: `*` is a list, `?` has presence, `|` is a member of the oneof. */
const MESSAGES: Readonly<Record<string, string>> = {
  SendMessageRequest: 'tenant:string message:Message configuration:SendMessageConfiguration metadata:Struct',
  SendMessageConfiguration:
    'accepted_output_modes:string* task_push_notification_config:TaskPushNotificationConfig history_length:int32? return_immediately:bool',
  Message:
    'message_id:string context_id:string task_id:string role:Role parts:Part* metadata:Struct extensions:string* reference_task_ids:string*',
  Part: 'text:string| raw:bytes| url:string| data:Value| metadata:Struct filename:string media_type:string',
  TaskPushNotificationConfig:
    'tenant:string id:string task_id:string url:string token:string authentication:AuthenticationInfo',
  AuthenticationInfo: 'scheme:string credentials:string',
  GetTaskRequest: 'tenant:string id:string history_length:int32?',
  ListTasksRequest:
    'tenant:string context_id:string status:TaskState page_size:int32? page_token:string history_length:int32? status_timestamp_after:Timestamp include_artifacts:bool?',
  ListTaskPushNotificationConfigsRequest: 'task_id:string page_size:int32 page_token:string tenant:string',
}

const ENUMS: Readonly<Record<string, readonly string[]>> = {
  Role: ['ROLE_UNSPECIFIED', 'ROLE_USER', 'ROLE_AGENT'],
  TaskState: [
    ...['UNSPECIFIED', 'SUBMITTED', 'WORKING', 'COMPLETED', 'FAILED', 'CANCELED', 'INPUT_REQUIRED'],
    ...['REJECTED', 'AUTH_REQUIRED'],
  ].map((name) => `TASK_STATE_${name}`),
}

const SCALARS: Readonly<Record<string, Type>> = {
  string: Type.STRING,
  bytes: Type.BYTES,
  bool: Type.BOOL,
  int32: Type.INT32,
}
const WELL_KNOWN = ['Struct', 'Value', 'Timestamp']

function fieldOf(text: string, index: number, optionals: string[]) {
  const [, name = '', type = '', mark = ''] = /^(\w+):(\w+)([*?|]?)$/.exec(text) ?? []
  const scalar = SCALARS[type]
  const isOptional = mark === '?'
  if (isOptional) optionals.push(name)
  return {
    name,
    jsonName: name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    number: index + 1,
    label: mark === '*' ? Label.REPEATED : Label.OPTIONAL,
    type: scalar ?? (type in ENUMS ? Type.ENUM : Type.MESSAGE),
    ...(scalar === undefined && {
      typeName: WELL_KNOWN.includes(type) ? `.google.protobuf.${type}` : `.a2a.${type}`,
    }),
    ...(mark === '|' && { oneofIndex: 0 }),
    ...(isOptional && { proto3Optional: true, oneofIndex: optionals.length - 1 }),
  }
}

function messageOf([name, fields]: [string, string]) {
  const optionals: string[] = []
  const field = fields.split(' ').map((text, index) => fieldOf(text, index, optionals))
  const oneofs = fields.includes('|') ? ['content'] : optionals.map((each) => `_${each}`)
  return { name, field, oneofDecl: oneofs.map((each) => ({ name: each })) }
}

const file = create(FileDescriptorProtoSchema, {
  name: 'a2a.proto',
  package: 'a2a',
  syntax: 'proto3',
  dependency: ['google/protobuf/struct.proto', 'google/protobuf/timestamp.proto'],
  messageType: Object.entries(MESSAGES).map(messageOf),
  enumType: Object.entries(ENUMS).map(([name, values]) => ({
    name,
    value: values.map((value, number) => ({ name: value, number })),
  })),
})

const FILES: Readonly<Record<string, DescFile>> = {
  'google/protobuf/struct.proto': file_google_protobuf_struct,
  'google/protobuf/timestamp.proto': file_google_protobuf_timestamp,
}
const registry = createFileRegistry(file, (name) => FILES[name])

export function messageType(name: string): DescMessage {
  const type = registry.getMessage(`a2a.${name}`)
  if (type === undefined) throw new Error(`There is no ${name}`)
  return type
}
