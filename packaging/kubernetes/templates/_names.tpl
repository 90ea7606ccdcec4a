{{- define "tidepool.name" -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}-tidepool
{{- end }}

{{- define "tidepool.selector" -}}
app.kubernetes.io/name: tidepool
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tidepool.labels" -}}
{{ include "tidepool.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "tidepool.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Nothing of the image needs root, a capability or a writable file. */}}
{{- define "tidepool.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "tidepool.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Where the databases are. Call with (dict "root" $ "secret" NAME): the chart's own Secret. */}}
{{- define "tidepool.databases" -}}
{{- $values := .root.Values }}
- name: TIDEPOOL_DB
  valueFrom:
    secretKeyRef:
{{- if $values.database.existingSecret }}
      name: {{ $values.database.existingSecret }}
      key: {{ $values.database.existingSecretKey }}
{{- else }}
      name: {{ .secret }}
      key: database
{{- end }}
{{- if or $values.redis.url $values.redis.existingSecret }}
- name: TIDEPOOL_REDIS
  valueFrom:
    secretKeyRef:
{{- if $values.redis.existingSecret }}
      name: {{ $values.redis.existingSecret }}
      key: {{ $values.redis.existingSecretKey }}
{{- else }}
      name: {{ .secret }}
      key: redis
{{- end }}
{{- end }}
{{- end }}

{{- define "tidepool.needsSecret" -}}
{{- if or (not .Values.database.existingSecret) (and .Values.redis.url (not .Values.redis.existingSecret)) }}yes{{ end }}
{{- end }}

{{- define "tidepool.secretData" -}}
{{- if not .Values.database.existingSecret }}
database: {{ .Values.database.url | quote }}
{{- end }}
{{- if and .Values.redis.url (not .Values.redis.existingSecret) }}
redis: {{ .Values.redis.url | quote }}
{{- end }}
{{- end }}
