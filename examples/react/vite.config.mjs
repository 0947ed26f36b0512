import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [react()],
  // The connector runs in the server of the quick start. With this proxy the page and its files have one origin.
  server: { proxy: { '/connector': 'http://localhost:3000' } },
});
