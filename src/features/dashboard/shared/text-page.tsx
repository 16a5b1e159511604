import { showSettings } from './frame.tsx'

// The script of pages whose only content is a text from the daemon.
showSettings()
