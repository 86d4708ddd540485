export const sandboxCase = { name: 'in a sandboxed frame, `logout` signs the user out' }
