import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Editor } from './editor.jsx';

function Page() {
  const [html, setHtml] = useState('<p>Hello</p>');
  return (
    <>
      <Editor url="/connector" value={html} onChange={setHtml} />
      <div id="preview" dangerouslySetInnerHTML={{ __html: html }} />
    </>
  );
}

createRoot(document.getElementById('root')).render(<Page />);
